//! Which areas are loaded together: one, several of one disk, one of each of several disks.

use swaptune_core::Bytes;

/// What is known about an area before anything is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateArea {
    /// Which folder or device it comes from, counted from 0.
    pub place: usize,
    /// Whole disks below.
    pub disks: Vec<String>,
    /// How much loads may use.
    pub room: Bytes,
    /// True for one of the areas that a folder is split into, false for the one that stands for all of it.
    pub is_part: bool,
}

/// Areas that are loaded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AreaLayout {
    /// Which of the candidates.
    pub areas: Vec<usize>,
    /// Whole disks below all of them.
    pub disks: Vec<String>,
}

impl AreaLayout {
    fn of(candidates: &[CandidateArea], areas: Vec<usize>) -> Self {
        let mut disks: Vec<String> = areas.iter().flat_map(|area| candidates[*area].disks.clone()).collect();
        disks.sort_unstable();
        disks.dedup();
        Self { areas, disks }
    }
}

/// All layouts that say something, single areas first.
#[must_use]
pub fn layouts(candidates: &[CandidateArea]) -> Vec<AreaLayout> {
    let having = |wanted: &dyn Fn(&CandidateArea) -> bool| -> Vec<usize> {
        candidates.iter().enumerate().filter(|(_, candidate)| wanted(candidate)).map(|(index, _)| index).collect()
    };
    let whole = having(&|candidate| !candidate.is_part);
    let mut groups: Vec<Vec<usize>> = whole.iter().map(|area| vec![*area]).collect();
    for area in &whole {
        groups.push(having(&|other| other.is_part && other.place == candidates[*area].place));
    }
    let mut disks: Vec<&Vec<String>> = whole.iter().map(|area| &candidates[*area].disks).collect();
    disks.sort_unstable();
    disks.dedup();
    for disk in &disks {
        groups.push(having(&|other| !other.is_part && other.disks == **disk));
    }
    let first_on = |disk: &&Vec<String>| whole.iter().copied().find(|area| candidates[*area].disks == **disk);
    groups.push(disks.iter().filter_map(first_on).collect());
    let mut found: Vec<AreaLayout> = Vec::new();
    for (number, areas) in groups.into_iter().enumerate() {
        let says_something = number < whole.len() || areas.len() > 1;
        if says_something && !found.iter().any(|layout| layout.areas == areas) {
            found.push(AreaLayout::of(candidates, areas));
        }
    }
    found
}

/// How much every layout is spread over, so that none has the shorter way: as asked for, or what the smallest can take.
#[must_use]
pub fn common_size(candidates: &[CandidateArea], layouts: &[AreaLayout], asked: Bytes) -> Bytes {
    let room = |layout: &AreaLayout| {
        let least = layout.areas.iter().map(|area| candidates[*area].room.0).min().unwrap_or(0);
        least.saturating_mul(layout.areas.len() as u64)
    };
    let least = layouts.iter().map(room).min().unwrap_or(0).min(asked.0);
    // Whole clusters of 2 MiB for each area.
    let unit = layouts.iter().map(|layout| layout.areas.len() as u64).fold(1, lcm) * (2 << 20);
    Bytes(if least >= unit { least - least % unit } else { least - least % 4096 })
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(place: usize, disk: &str, is_part: bool, mib: u64) -> CandidateArea {
        CandidateArea { place, disks: vec![disk.into()], room: Bytes::from_mib(mib), is_part }
    }

    fn split(place: usize, disk: &str) -> Vec<CandidateArea> {
        [(false, 64), (true, 16), (true, 16), (true, 16), (true, 16)].map(|(part, mib)| area(place, disk, part, mib)).to_vec()
    }

    fn groups(candidates: &[CandidateArea]) -> Vec<(Vec<usize>, String)> {
        layouts(candidates).into_iter().map(|layout| (layout.areas, layout.disks.join("+"))).collect()
    }

    #[test]
    fn one_folder_is_measured_whole_and_split() {
        let candidates = split(0, "vda");
        assert_eq!(groups(&candidates), [(vec![0], "vda".into()), (vec![1, 2, 3, 4], "vda".into())]);
        let size = common_size(&candidates, &layouts(&candidates), Bytes::from_gib(1));
        assert_eq!(size, Bytes::from_mib(64));
    }

    #[test]
    fn folders_on_two_disks_are_also_measured_together() {
        let candidates = [split(0, "sda"), split(1, "sdb")].concat();
        let expect =
            [(vec![0], "sda"), (vec![5], "sdb"), (vec![1, 2, 3, 4], "sda"), (vec![6, 7, 8, 9], "sdb"), (vec![0, 5], "sda+sdb")];
        assert_eq!(groups(&candidates), expect.map(|(areas, disks)| (areas, disks.to_owned())));
    }

    #[test]
    fn devices_of_one_disk_are_areas_of_it() {
        let candidates = [area(0, "sda", false, 100), area(1, "sda", false, 50)];
        assert_eq!(groups(&candidates), [(vec![0], "sda".into()), (vec![1], "sda".into()), (vec![0, 1], "sda".into())]);
        let size = common_size(&candidates, &layouts(&candidates), Bytes::from_gib(1));
        assert_eq!(size, Bytes::from_mib(48), "the smallest device, in whole clusters for two");
        assert_eq!(groups(&[area(0, "sda", false, 100)]), [(vec![0], "sda".into())]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(layouts(&[]).is_empty());
        assert_eq!(common_size(&[], &[], Bytes(1)), Bytes(0));
    }
}
