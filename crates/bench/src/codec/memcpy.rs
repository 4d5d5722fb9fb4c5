//! Copies: the bound that memory sets.

use super::{CodecError, PageCodec};

struct Memcpy;

pub(super) fn open(_: i32, _: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    Ok(Box::new(Memcpy))
}

impl PageCodec for Memcpy {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        out.get_mut(..page.len())?.copy_from_slice(page);
        Some(page.len())
    }

    fn decompress(&mut self, data: &[u8], page: &mut [u8]) -> Result<(), CodecError> {
        if data.len() != page.len() {
            return Err(CodecError::Length { codec: "memcpy", found: data.len(), expected: page.len() });
        }
        page.copy_from_slice(data);
        Ok(())
    }
}
