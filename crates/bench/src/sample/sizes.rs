//! What each codec makes of a page.

use swaptune_tiers::page_set::PageClass;

use crate::codec::{self, CodecError, CodecSetting, PageCodec};

/// Codecs whose sizes are asked for unless others are named: those of the kernel that can be computed here. `zstd:1` is what
/// zram can be told to use.
pub const USUAL: &[&str] = &["lz4", "lz4hc", "zstd", "zstd:1", "deflate"];

/// Classifies and compresses pages, one after the other.
pub struct Sizer {
    codecs: Vec<(String, Box<dyn PageCodec>)>,
    room: Vec<u8>,
    page: usize,
}

impl Sizer {
    /// For these codecs and pages of this size.
    ///
    /// # Errors
    /// [`CodecError`] when a library gives no context.
    pub fn new(settings: &[CodecSetting], page: usize) -> Result<Self, CodecError> {
        let open = |setting: &CodecSetting| Ok((setting.to_string(), setting.open(page)?));
        Ok(Self { codecs: settings.iter().map(open).collect::<Result<_, _>>()?, room: vec![0; codec::room(page)], page })
    }

    /// Names of the codecs, in the order of the sizes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.codecs.iter().map(|(name, _)| name.as_str())
    }

    /// What a page holds and what it takes under each codec, added to the columns. A page of zeros takes nothing anywhere.
    pub fn add(&mut self, page: &[u8], sizes: &mut [Vec<u16>]) -> PageClass {
        let class = match codec::same_filled(page) {
            Some(true) => PageClass::Zero,
            Some(false) => PageClass::SameFilled,
            None => PageClass::Data,
        };
        for ((_, codec), column) in self.codecs.iter_mut().zip(sizes) {
            let size = match class {
                PageClass::Zero => 0,
                _ => codec::counted(codec.compress(page, &mut self.room), self.page),
            };
            column.push(u16::try_from(size).unwrap_or(u16::MAX));
        }
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_apart() {
        let settings: Vec<CodecSetting> = USUAL.iter().map(|name| name.parse().unwrap()).collect();
        let mut sizer = Sizer::new(&settings, 4096).unwrap();
        assert_eq!(sizer.names().collect::<Vec<_>>(), USUAL);
        let mut sizes = vec![Vec::new(); USUAL.len()];
        let text: Vec<u8> = b"a line of text, ".iter().copied().cycle().take(4096).collect();
        let noise: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761).rotate_left(i % 31) >> 13) as u8).collect();
        let classes = [&[0; 4096][..], &[7; 4096], &text, &noise].map(|page| sizer.add(page, &mut sizes));
        assert_eq!(classes, [PageClass::Zero, PageClass::SameFilled, PageClass::Data, PageClass::Data]);
        for (name, column) in USUAL.iter().zip(&sizes) {
            assert_eq!(column[0], 0, "{name}");
            assert!((1..100).contains(&column[1]) && (1..200).contains(&column[2]), "{name}: {column:?}");
            assert_eq!(column[3], 4096, "{name}: noise does not compress");
        }
    }
}
