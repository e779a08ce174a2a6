//! Prometheus' text format 0.0.4.

use std::fmt::{Display, Write};

/// A page in the making.
#[derive(Debug, Default)]
pub(crate) struct Text {
    page: String,
    family: &'static str,
    pending: Option<(&'static str, &'static str)>,
}

impl Text {
    /// Starts a family. Its head is written with its first sample: a family without samples is absent.
    pub fn family(&mut self, name: &'static str, kind: &'static str, help: &'static str) {
        self.family = name;
        self.pending = Some((kind, help));
    }

    /// A sample of the family.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.suffixed("", labels, value);
    }

    /// A sample whose name goes on after the family's: `_bucket`, `_sum`, `_count`.
    pub fn suffixed(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let name = self.family;
        if let Some((kind, help)) = self.pending.take() {
            let _ = writeln!(self.page, "# HELP {name} {help}\n# TYPE {name} {kind}");
        }
        let _ = write!(self.page, "{name}{suffix}");
        for (at, (label, text)) in labels.iter().enumerate() {
            self.page.push_str(if at == 0 { "{" } else { "," });
            let _ = write!(self.page, "{label}=\"");
            for c in text.chars() {
                match c {
                    '\\' => self.page.push_str("\\\\"),
                    '"' => self.page.push_str("\\\""),
                    '\n' => self.page.push_str("\\n"),
                    c => self.page.push(c),
                }
            }
            self.page.push('"');
        }
        if !labels.is_empty() {
            self.page.push('}');
        }
        let _ = writeln!(self.page, " {value}");
    }

    /// The page.
    pub fn finish(self) -> String {
        self.page
    }
}
