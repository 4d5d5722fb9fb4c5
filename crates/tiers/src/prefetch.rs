//! Asking the processor for memory before it is needed, and the kernel for large pages of it. The only file of this room with unsafe
//! code.
#![allow(unsafe_code)]

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// A vector of `count` equal values, in huge pages if the kernel gives them on request: what is accessed at random is then found
/// without a walk through page tables.
pub fn filled<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    advise(&mut values);
    values.resize(count, value);
    values
}

/// Asks for huge pages for the room of a vector, before it is touched.
fn advise<T>(values: &mut Vec<T>) {
    use rustix::mm::{Advice, madvise};
    let room = values.spare_capacity_mut();
    let (start, end) = (room.as_mut_ptr() as usize, room.as_mut_ptr() as usize + size_of_val(room));
    let first = start.next_multiple_of(HUGE);
    if end > first + HUGE {
        let address = room.as_mut_ptr().cast::<u8>().wrapping_add(first - start);
        // SAFETY: the range lies in memory that this vector owns alone, and the advice changes only by which pages it is backed.
        // Without huge pages the kernel refuses, which is as good.
        let _ = unsafe { madvise(address.cast(), (end - first) / HUGE * HUGE, Advice::LinuxHugepage) };
    }
}

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
    fn a_large_vector_is_filled_like_any_other() {
        for count in [0, 1, 100, 3_000_000] {
            assert_eq!(filled(7_u32, count), vec![7_u32; count]);
        }
    }

    #[test]
    fn any_index_is_a_harmless_hint() {
        let words = vec![1u32; 100];
        for index in [0, 99, 100, 1 << 40, usize::MAX] {
            prefetch(&words, index);
        }
        assert_eq!(words, vec![1; 100]);
    }
}
