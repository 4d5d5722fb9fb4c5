//! Asking the processor for memory before it is needed. The only file of this room with unsafe code.
#![allow(unsafe_code)]

/// Brings the cache line of `slice[index]` near, when there is one. Says nothing about whether the index exists.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let address = slice.as_ptr().wrapping_add(index);
    // SAFETY: a prefetch is a hint: it reads nothing, changes nothing that a program can see, and never faults, whatever
    // the address; the pointer is made by wrapping arithmetic, which is defined for every index. SSE is part of x86-64.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: as above; `prfm` is the same hint on this architecture.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{address}]", address = in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_is_a_harmless_hint() {
        let words = vec![1u32; 100];
        for index in [0, 99, 100, 1 << 40, usize::MAX] {
            prefetch(&words, index);
        }
        assert_eq!(words, vec![1; 100]);
    }
}
