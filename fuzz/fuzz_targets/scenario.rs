#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_tiers::page_set::PageSet;
use swaptune_tiers::scenario::{Changes, Outside, Scenario, Source, Sweep, Typed};

struct Nothing;

impl Outside for Nothing {
    fn page_set(&self, name: &str) -> Result<PageSet, String> {
        Err(format!("{name}: there is none"))
    }

    fn pages(&self, _: &Source) -> Result<u32, String> {
        Ok(1000)
    }
}

// Whatever is typed is read or refused; what is read is the same as the file that it would be. The first line is a tiering, the
// second a sweep, the third RAM; all of them together are a file.
fuzz_target!(|text: &str| {
    let _ = Scenario::read(text, &Changes::default(), &Nothing);
    let mut lines = text.lines().map(str::to_owned);
    let typed = Typed {
        tierings: lines.next().into_iter().collect(),
        policies: Vec::new(),
        ram: Some("1G".to_owned()),
        one_ram: true,
        source: Source::Generated("zipf".to_owned()),
        sleeps: false,
        machine: Vec::new(),
    };
    let sweep = lines.next().and_then(|sweep| Sweep::parse(&sweep).ok()).filter(|sweep| sweep.values.len() < 10);
    let typed = Typed { ram: lines.next().or(typed.ram), ..typed };
    let changes = Changes { sweep, ..Changes::default() };
    if let Ok(scenario) = Scenario::typed(&typed, &changes, &Nothing) {
        let text = typed.text(&changes).expect("what was understood can be written");
        let read = Scenario::read(&text, &Changes::default(), &Nothing).expect("and read");
        assert_eq!(read.points, scenario.points);
    }
});
