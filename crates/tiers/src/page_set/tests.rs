use super::*;

fn set() -> PageSet {
    let group = |name: &str, present| PageGroup {
        name: name.into(),
        kind: GroupKind::Process,
        processes: 1,
        present,
        swapped: 0,
        watched: Some(WatchedPages { pages: 9, cold: 4 }),
    };
    PageSet {
        schema: SCHEMA,
        origin: SampleOrigin { of: "all processes".into(), seed: 7, cold_seconds: Some(30), ..SampleOrigin::default() },
        page_size: 4096,
        groups: vec![group("a[1]", 10), group("b[2]", 2)],
        group: vec![0, 0, 1, 1],
        class: vec![PageClass::Zero, PageClass::Data, PageClass::SameFilled, PageClass::Data],
        touch: Some(vec![Touch::Cold, Touch::Touched, Touch::Unknown, Touch::Cold]),
        sizes: [("lz4".into(), vec![0, 1000, 30, 4096]), ("zstd".into(), vec![0, 700, 22, 4096])].into(),
    }
}

#[test]
fn what_is_written_is_read_back() {
    let text = set().to_json().unwrap();
    assert!(text.contains("\"class\":\"zdsd\"") && text.contains("\"touch\":\"ct?c\""), "{text}");
    assert_eq!(PageSet::from_json(&text).unwrap(), set());
    let plain = PageSet { touch: None, ..set() };
    assert_eq!(PageSet::from_json(&plain.to_json().unwrap()).unwrap(), plain);
    assert_eq!((set().len(), set().present(), set().is_empty()), (4, 12, false));
}

#[test]
fn same_filled_pages_take_what_the_kernel_gives_them() {
    let stored = |free| (0..4).map(|page| set().stored("lz4", page, free).unwrap()).collect::<Vec<_>>();
    assert_eq!((stored(true), stored(false)), (vec![0, 1000, 0, 4096], vec![0, 1000, 30, 4096]));
    assert!(set().stored("lzo", 0, true).is_none() && set().stored("lz4", 4, true).is_none());
}

#[test]
fn what_is_wrong_is_named() {
    let says = |set: PageSet| set.to_json().unwrap_err().to_string();
    assert_eq!(says(PageSet { class: Vec::new(), ..set() }), "column `class` has 0 pages, expected 4");
    assert_eq!(says(PageSet { touch: Some(Vec::new()), ..set() }), "column `touch` has 0 pages, expected 4");
    assert_eq!(says(PageSet { sizes: [("lz4".into(), vec![0])].into(), ..set() }), "column `lz4` has 1 pages, expected 4");
    assert_eq!(says(PageSet { group: vec![0, 0, 1, 2], ..set() }), "page 3 is of group 2, and there are 2");
    assert_eq!(says(PageSet { group: vec![1, 0, 1, 1], ..set() }), "3 pages of `b[2]`, which has 2");
    let empty =
        PageSet { group: Vec::new(), class: Vec::new(), touch: None, sizes: [("lz4".into(), Vec::new())].into(), ..set() };
    assert_eq!(says(empty), "found no pages, expected one or more");
    let sizes = |sizes: [u16; 4]| PageSet { sizes: [("lz4".into(), sizes.to_vec())].into(), ..set() };
    assert_eq!(says(sizes([0, 1000, 30, 4097])), "page 3 takes 4097 bytes under lz4, expected 1 to 4096");
    assert_eq!(says(sizes([0, 0, 30, 4096])), "page 1 takes 0 bytes under lz4, expected 1 to 4096");
    assert_eq!(says(sizes([5, 1000, 30, 4096])), "page 0 takes 5 bytes under lz4, expected 0: it holds zeros");
}

#[test]
fn what_is_no_page_set_is_refused() {
    let says = |text: &str| PageSet::from_json(text).unwrap_err().to_string();
    assert!(says("").starts_with("not a page set: EOF"), "{}", says(""));
    assert!(says("{}").contains("missing field `schema`"));
    assert_eq!(says("{\"schema\":9}"), "version 9 of the form, expected 1");
    let text = set().to_json().unwrap().replace("zdsd", "zdsx");
    assert!(says(&text).contains("page 3 is `x`, expected one of `z`, `s`, `d`"), "{}", says(&text));
}
