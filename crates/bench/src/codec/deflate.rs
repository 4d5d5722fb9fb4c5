//! DEFLATE through libdeflate.
//!
//! The kernel's is zlib with a window of 2 KiB (crypto/deflate.c, backend_deflate.c). libdeflate looks back over the whole page
//! and is several times as fast: its speed is an upper bound, its sizes come near.

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use super::{CodecError, PageCodec};

const NAME: &str = "libdeflate";

struct Deflate {
    compressor: Compressor,
    decompressor: Decompressor,
}

pub(super) fn open(level: i32, _: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    let refused = |error| CodecError::Context { codec: NAME, why: format!("level {level}: {error:?}") };
    let level = CompressionLvl::new(level).map_err(refused)?;
    Ok(Box::new(Deflate { compressor: Compressor::new(level), decompressor: Decompressor::new() }))
}

impl PageCodec for Deflate {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        // Too little room is the only error that it knows.
        self.compressor.deflate_compress(page, out).ok()
    }

    fn decompress(&mut self, data: &[u8], page: &mut [u8]) -> Result<(), CodecError> {
        let (codec, expected) = (NAME, page.len());
        match self.decompressor.deflate_decompress(data, page) {
            Ok(length) if length == expected => Ok(()),
            Ok(found) => Err(CodecError::Length { codec, found, expected }),
            // More than a page; how much more is not known.
            Err(DecompressionError::InsufficientSpace) => Err(CodecError::Length { codec, found: expected + 1, expected }),
            Err(DecompressionError::BadData) => Err(CodecError::Corrupt { codec, bytes: data.len(), why: String::new() }),
        }
    }
}
