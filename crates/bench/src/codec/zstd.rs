//! Zstandard through libzstd, with contexts that are kept and the parameters that the kernel asks for.
#![allow(unsafe_code, reason = "zstd-safe has no cover for ZSTD_getCParams")]

use zstd_safe::zstd_sys::{ZSTD_compressionParameters, ZSTD_getCParams};
use zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

use super::{CodecError, PageCodec};

const NAME: &str = "libzstd";

/// `ZSTD_DEF_LEVEL` of crypto/zstd.c.
const CRYPTO_LEVEL: i32 = 3;

/// `ZSTD_MAX_SIZE` of crypto/zstd.c, for which it asks for parameters, whatever it is given later.
const CRYPTO_SOURCE: usize = 256 << 10;

struct Zstd {
    compressor: CCtx<'static>,
    decompressor: DCtx<'static>,
}

/// As drivers/block/zram/backend_zstd.c: parameters for a source of one page.
pub(super) fn open_zram(level: i32, page_size: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    open(parameters(level, page_size))
}

/// As crypto/zstd.c, which zswap uses.
pub(super) fn open_crypto(_: i32, _: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    open(parameters(CRYPTO_LEVEL, CRYPTO_SOURCE))
}

fn parameters(level: i32, source: usize) -> ZSTD_compressionParameters {
    // SAFETY: computes from its arguments, any of which it takes.
    unsafe { ZSTD_getCParams(level, source as u64, 0) }
}

fn open(wanted: ZSTD_compressionParameters) -> Result<Box<dyn PageCodec>, CodecError> {
    let refused = |why: &str| CodecError::Context { codec: NAME, why: why.to_owned() };
    let mut compressor = CCtx::try_create().ok_or_else(|| refused("out of memory"))?;
    // The frame has its content size and no checksum: the library's default, and the kernel's.
    for parameter in [
        CParameter::WindowLog(wanted.windowLog),
        CParameter::ChainLog(wanted.chainLog),
        CParameter::HashLog(wanted.hashLog),
        CParameter::SearchLog(wanted.searchLog),
        CParameter::MinMatch(wanted.minMatch),
        CParameter::TargetLength(wanted.targetLength),
        CParameter::Strategy(wanted.strategy),
    ] {
        compressor.set_parameter(parameter).map_err(|code| refused(&format!("{parameter:?}: {}", get_error_name(code))))?;
    }
    let decompressor = DCtx::try_create().ok_or_else(|| refused("out of memory"))?;
    Ok(Box::new(Zstd { compressor, decompressor }))
}

impl PageCodec for Zstd {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        // With a context that is set up, too little room is what is left to fail.
        self.compressor.compress2(out, page).ok()
    }

    fn decompress(&mut self, data: &[u8], page: &mut [u8]) -> Result<(), CodecError> {
        let (codec, bytes, expected) = (NAME, data.len(), page.len());
        match self.decompressor.decompress(page, data) {
            Ok(found) if found == expected => Ok(()),
            Ok(found) => Err(CodecError::Length { codec, found, expected }),
            Err(code) => Err(CodecError::Corrupt { codec, bytes, why: format!(": {}", get_error_name(code)) }),
        }
    }
}
