//! Whether a report can be read: its tags, and what a browser makes of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use swaptune_trials::{End, lacks, program};

/// Debian's names of the browser.
const BROWSERS: [&str; 2] = ["chromium-headless-shell", "chromium"];
/// Widths of a window, in pixels: a telephone, a half screen, a screen.
const WIDTHS: [u32; 3] = [360, 900, 1200];
/// Tags that have no end.
const VOID: [&str; 2] = ["meta", "br"];

/// Looks at every picture of a page from within: how large it is, what of its text lies outside of it or over other text. A frame has the
/// width that a window would have, which may be less than the browser's own least.
const LOOK: &str = r#"<script>
const page = document.documentElement.outerHTML.replace(/<script>[^]*/, "");
const look = (width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:4000px;border:0`;
  frame.onload = () => {
    const inside = frame.contentDocument;
    const seen = [...inside.querySelectorAll("svg[role=img]")].map(svg => {
      const box = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")].map(text => ({ box: text.getBoundingClientRect(), said: text.textContent }))
        .filter(text => text.box.width > 0);
      const outside = texts.filter(text =>
        text.box.left < box.left - 1 || text.box.right > box.right + 1 || text.box.top < box.top - 1 || text.box.bottom > box.bottom + 1);
      const over = texts.filter((a, place) => texts.slice(place + 1).some(b =>
        a.box.left < b.box.right && b.box.left < a.box.right && a.box.top + 2 < b.box.bottom && b.box.top + 2 < a.box.bottom));
      return { width: box.width, height: box.height, texts: texts.length, outside: outside.map(t => t.said), over: over.map(t => t.said) };
    });
    const root = inside.documentElement;
    done({ asked: width, seen, wide: root.scrollWidth > root.clientWidth, scripts: inside.scripts.length });
  };
  frame.srcdoc = "<!doctype html>" + page;
  document.body.append(frame);
});
Promise.all(WIDTHS.map(look)).then(seen => {
  document.body.innerHTML = "<pre id=seen>" + JSON.stringify(seen).replaceAll("<", " ").replaceAll("&", " ") + "</pre>";
});
</script>"#;

/// The browser, where there is one.
pub fn browser() -> Result<&'static str, End> {
    let found = BROWSERS.into_iter().find(|name| program(name, &["--version"]).is_ok());
    found.map_or_else(|| lacks("a browser: chromium-headless-shell"), Ok)
}

/// In windows of several widths every picture is there, and no text lies over another one or outside.
pub fn is_readable(page: &Path, pictures: usize) -> Result<(), Failed> {
    let text = fs::read_to_string(page)?;
    let copy = tempfile::tempdir()?;
    let looked = copy.path().join("page.html");
    fs::write(&looked, text.replace("</body>", &format!("{}</body>", LOOK.replace("WIDTHS", &json!(WIDTHS).to_string()))))?;
    let Ok(browser) = browser() else { return Err("the browser is gone".into()) };
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]);
    let output = command.arg(format!("--user-data-dir={}", copy.path().join("browser").display())).arg(&looked).output()?;
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let seen = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let windows: Vec<Value> = serde_json::from_str(seen.ok_or_else(|| format!("nothing was looked at: {dom}"))?.0)?;
    let is_clear = |picture: &Value, asked: f64| {
        let is_large = picture["width"].as_f64() > Some(asked.min(820.0) * 0.8) && picture["height"].as_f64() > Some(50.0);
        is_large && picture["outside"] == json!([]) && picture["over"] == json!([]) && picture["texts"].as_u64() > Some(1)
    };
    let is_good = |window: &Value| {
        let seen = window["seen"].as_array().map_or(&[][..], Vec::as_slice);
        let asked = window["asked"].as_f64().unwrap_or_default();
        let has_room = window["wide"] == false && window["scripts"] == 0;
        has_room && seen.len() == pictures && seen.iter().all(|picture| is_clear(picture, asked))
    };
    match windows.iter().find(|window| !is_good(window)) {
        None if windows.len() == WIDTHS.len() => Ok(()),
        window => Err(format!("{pictures} pictures expected: {window:#?}").into()),
    }
}

/// Each tag that begins ends, in turn; nothing is loaded and nothing runs.
pub fn is_well_formed(page: &str) -> Result<(), Failed> {
    for word in ["<script", "http", "src=", "url(", "@import", "onload"] {
        if page.contains(word) {
            return Err(format!("`{word}` in {page}").into());
        }
    }
    let mut open: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').ok_or_else(|| format!("a tag without its end: {part}"))?;
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if let Some(ended) = tag.strip_prefix('/') {
            let begun = open.pop();
            if begun != Some(ended) {
                return Err(format!("</{ended}> ends {begun:?}").into());
            }
        } else if !tag.starts_with('!') && !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("without an end: {open:?}").into()) }
}
