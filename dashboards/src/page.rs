//! Web pages: self-contained HTML without scripts or external resources, light and dark, and fit to print.
//!
//! Each page is a struct of texts and an askama template of the same name; askama escapes every text. The one style
//! sheet is [`STYLE`], inline in each page; a service that sends a content security policy hashes it.

use askama::Template;

mod error;
mod explain;
mod overview;
mod platform;
mod statement;

pub use error::error;
pub use explain::explain;
pub use overview::{MonthLink, overview};
pub use platform::platform;
pub use statement::statement;

/// The style sheet of every page, exactly as it stands between `<style>` and `</style>`.
pub const STYLE: &str = include_str!("../templates/style.css");

/// Where a page may link to. A page sent by mail or written to a file has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The overview.
    pub home: Option<String>,
    /// Prefix to which a statement's number is added.
    pub statements: Option<String>,
    /// Prefix to which a line's reference (`VIS-2026-09-L3`) is added.
    pub lines: Option<String>,
    /// This page's content as files: a name for people and where it is.
    pub files: Vec<(String, String)>,
}

impl Links {
    /// No links at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Where a statement is.
    fn statement(&self, number: &str) -> Option<String> {
        self.statements.as_ref().map(|prefix| format!("{prefix}{number}"))
    }

    /// Where a line is opened.
    fn line(&self, statement: &str, line: &str) -> Option<String> {
        self.lines.as_ref().map(|prefix| format!("{prefix}{statement}-{line}"))
    }
}

/// A heading's texts, on every page about a period.
#[derive(Debug, Clone)]
struct Heading {
    /// The watermark in showback.
    watermark: Option<&'static str>,
    /// `PROVISIONAL` or `FINAL`.
    status: &'static str,
    /// Revision.
    revision: u32,
    /// Local and UTC bounds with the hours.
    bounds: String,
    /// Versions of prices and mapping, and how far data reaches.
    versions: String,
    /// What was waived at the close.
    waivers: Vec<String>,
}

impl Heading {
    fn of(context: &billing::statement::Context) -> Self {
        Self {
            watermark: billing::words::watermark(context.mode),
            status: billing::words::status(context.status),
            revision: context.revision,
            bounds: crate::line::bounds(context),
            versions: crate::line::versions(context),
            waivers: context.closed.iter().flat_map(|c| &c.waivers).map(billing::words::waiver).collect(),
        }
    }
}

/// Renders a page whose fields are all texts, which can't fail.
fn html<T: Template>(page: &T) -> String {
    page.render().expect("a page of texts renders into a string")
}
