//! LZ4 through liblz4, with the state that its caller keeps, as in the kernel.
#![allow(unsafe_code, reason = "liblz4 is a C library")]

use lz4_sys::{LZ4_decompress_safe, c_char, c_int, c_void};

use super::{CodecError, PageCodec};

const NAME: &str = "liblz4";

// In lz4.h and lz4hc.h since 1.7; lz4-sys links them and does not declare them.
unsafe extern "C" {
    fn LZ4_sizeofState() -> c_int;
    fn LZ4_compress_fast_extState(
        state: *mut c_void,
        source: *const c_char,
        target: *mut c_char,
        source_size: c_int,
        target_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        source: *const c_char,
        target: *mut c_char,
        source_size: c_int,
        target_capacity: c_int,
        level: c_int,
    ) -> c_int;
}

/// `LZ4_compress_fast_extState` and `LZ4_compress_HC_extStateHC` have the same form.
type Compress = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, c_int, c_int, c_int) -> c_int;

struct Lz4 {
    /// Words, because the state must be aligned to eight bytes.
    state: Vec<u64>,
    level: c_int,
    compress: Compress,
}

pub(super) fn open_fast(acceleration: i32, _: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    // SAFETY: takes nothing and returns a constant.
    open(unsafe { LZ4_sizeofState() }, acceleration, LZ4_compress_fast_extState)
}

pub(super) fn open_hc(level: i32, _: usize) -> Result<Box<dyn PageCodec>, CodecError> {
    // SAFETY: takes nothing and returns a constant.
    open(unsafe { LZ4_sizeofStateHC() }, level, LZ4_compress_HC_extStateHC)
}

fn open(state_size: c_int, level: c_int, compress: Compress) -> Result<Box<dyn PageCodec>, CodecError> {
    let refused = |error| CodecError::Context { codec: NAME, why: format!("state of {state_size} bytes: {error}") };
    let bytes = usize::try_from(state_size).map_err(refused)?;
    Ok(Box::new(Lz4 { state: vec![0; bytes.div_ceil(size_of::<u64>())], level, compress }))
}

impl PageCodec for Lz4 {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        let (length, capacity) = (c_int::try_from(page.len()).ok()?, c_int::try_from(out.len()).ok()?);
        let (state, source, target) = (self.state.as_mut_ptr().cast(), page.as_ptr().cast(), out.as_mut_ptr().cast());
        // SAFETY: the state has the size that the library asks for, and is aligned; the library reads `length` bytes of
        // `page`, writes at most `capacity` of `out`, and keeps no pointer: each call begins with a fresh state.
        let written = unsafe { (self.compress)(state, source, target, length, capacity, self.level) };
        usize::try_from(written).ok().filter(|written| *written > 0)
    }

    fn decompress(&mut self, data: &[u8], page: &mut [u8]) -> Result<(), CodecError> {
        let (codec, bytes, expected) = (NAME, data.len(), page.len());
        let corrupt = |why: String| CodecError::Corrupt { codec, bytes, why };
        let too_long = |_| corrupt(": too long for LZ4".into());
        let (length, capacity) = (c_int::try_from(bytes).map_err(too_long)?, c_int::try_from(expected).map_err(too_long)?);
        // SAFETY: reads `length` bytes of `data` and writes at most `capacity` of `page`, whatever the data are.
        let written = unsafe { LZ4_decompress_safe(data.as_ptr().cast(), page.as_mut_ptr().cast(), length, capacity) };
        match usize::try_from(written) {
            Ok(found) if found == expected => Ok(()),
            Ok(found) => Err(CodecError::Length { codec, found, expected }),
            Err(_) => Err(corrupt(format!(": wrong at byte {}", written.unsigned_abs().saturating_sub(1)))),
        }
    }
}
