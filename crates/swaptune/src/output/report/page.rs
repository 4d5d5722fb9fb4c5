//! A page from its head down.

use std::fmt::Write;

use super::escape::escape;
use super::style::STYLE;
use super::svg::Picture;

/// A page to which is added what it shows. All that is handed in is text.
pub struct HtmlPage {
    title: String,
    body: String,
}

impl HtmlPage {
    /// A page with the title of its window and its heading.
    pub fn begin(title: &str, heading: &str) -> Self {
        Self { title: escape(title), body: format!("<h1>{}</h1>", escape(heading)) }
    }

    /// The answer, in one sentence.
    pub fn verdict(&mut self, text: &str) {
        let _ = write!(self.body, "<p class=verdict>{}</p>", escape(text));
    }

    /// What the following is about.
    pub fn heading(&mut self, text: &str) {
        let _ = write!(self.body, "<h2>{}</h2>", escape(text));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = write!(self.body, "<p>{}</p>", escape(text));
    }

    /// A line above a block or a table.
    pub fn label(&mut self, text: &str) {
        let _ = write!(self.body, "<p><b>{}</b></p>", escape(text));
    }

    /// Text whose lines stay as they are.
    pub fn block(&mut self, text: &str) {
        let _ = write!(self.body, "<pre>{}</pre>", escape(text));
    }

    /// Rows below a head; the first column is of names.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
            cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
        };
        let head = cells("th", &mut head.iter().copied());
        let row = |row: &Vec<String>| format!("<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)));
        let rows: String = rows.iter().map(row).collect();
        let _ = write!(self.body, "<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>");
    }

    /// What the colours of the following pictures mean.
    pub fn key<'a>(&mut self, entries: impl Iterator<Item = (&'static str, &'a str)>) {
        let entry = |(colour, name)| format!("<span><i style='background:{colour}'></i>{}</span>", escape(name));
        let _ = write!(self.body, "<p class=key>{}</p>", entries.map(entry).collect::<String>());
    }

    /// A picture.
    pub fn picture(&mut self, picture: &Picture) {
        self.body += picture.html();
    }

    /// The whole file.
    pub fn end(self) -> String {
        let head = format!(
            "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{}</title><style>{STYLE}</style>",
            self.title
        );
        format!("<!doctype html><html lang=en><head>{head}</head><body>{}</body></html>\n", self.body)
    }
}
