//! Where in a configuration file something stands, so that an error can send a person there.

use std::fmt;

/// A file and a line in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the operator named it.
    pub file: String,
    /// Line, from 1; `None` where the parser gave none.
    pub line: Option<usize>,
}

impl Place {
    /// The line that byte `at` of `text` lies on.
    pub fn at(file: &str, text: &str, at: Option<usize>) -> Self {
        let line_of = |at: usize| text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1;
        Self { file: file.into(), line: at.map(line_of) }
    }
}

/// `prices.toml:12`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// The SHA-256 of a configuration text, 64 hexadecimal digits: which version a statement was made with.
pub fn hash_of(text: &str) -> String {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string can't fail");
        hex
    })
}
