//! What went wrong, and what to do about it.

use super::{Links, STYLE, html};
use askama::Template;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    style: &'static str,
    links: &'a Links,
    /// HTTP status.
    status: u16,
    /// What happened, in a few words.
    title: &'a str,
    /// What to do.
    remedy: &'a str,
}

/// An error page. `title` says what happened and `remedy` what to do; neither names what the reader may not see.
pub fn error(status: u16, title: &str, remedy: &str, links: &Links) -> String {
    html(&ErrorPage { style: STYLE, links, status, title, remedy })
}
