//! The output formats this front offers, and how the chunks of a stream become one document.
//!
//! `chdb_stream_query` gives chunks that are whole documents: each repeats the header. A format
//! whose documents can be joined by leaving the repeated header out is streamed; any other (JSON,
//! Parquet, a pretty table) is asked for in one piece.

use crate::exception::{Code, Exception};

/// How documents of a format are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No header: one after the other.
    Rows,
    /// As many header lines. Quotes may hold line ends when `quoted`.
    Lines { count: usize, quoted: bool },
    /// A count of columns, then as many strings for the names, and again for the types.
    Binary { strings_per_column: usize },
    /// Can't be joined.
    Whole,
}

/// Name, shape and media type. Formats that read a schema file or a registry are not offered.
const FORMATS: &[(&str, Shape, &str)] = &[
    ("TabSeparated", Shape::Rows, TSV),
    ("TSV", Shape::Rows, TSV),
    ("TabSeparatedRaw", Shape::Rows, TSV),
    ("TSVRaw", Shape::Rows, TSV),
    ("Raw", Shape::Rows, TSV),
    ("TabSeparatedWithNames", lines(1), TSV),
    ("TSVWithNames", lines(1), TSV),
    ("TabSeparatedRawWithNames", lines(1), TSV),
    ("TSVRawWithNames", lines(1), TSV),
    ("TabSeparatedWithNamesAndTypes", lines(2), TSV),
    ("TSVWithNamesAndTypes", lines(2), TSV),
    ("TabSeparatedRawWithNamesAndTypes", lines(2), TSV),
    ("TSVRawWithNamesAndTypes", lines(2), TSV),
    ("CSV", Shape::Rows, CSV),
    ("CSVWithNames", quoted(1), CSV),
    ("CSVWithNamesAndTypes", quoted(2), CSV),
    ("JSONEachRow", Shape::Rows, NDJSON),
    ("JSONLines", Shape::Rows, NDJSON),
    ("NDJSON", Shape::Rows, NDJSON),
    ("JSONStringsEachRow", Shape::Rows, NDJSON),
    ("JSONCompactEachRow", Shape::Rows, NDJSON),
    ("JSONCompactStringsEachRow", Shape::Rows, NDJSON),
    ("JSONCompactEachRowWithNames", lines(1), NDJSON),
    ("JSONCompactStringsEachRowWithNames", lines(1), NDJSON),
    ("JSONCompactEachRowWithNamesAndTypes", lines(2), NDJSON),
    ("JSONCompactStringsEachRowWithNamesAndTypes", lines(2), NDJSON),
    ("RowBinary", Shape::Rows, BINARY),
    ("RowBinaryWithNames", Shape::Binary { strings_per_column: 1 }, BINARY),
    ("RowBinaryWithNamesAndTypes", Shape::Binary { strings_per_column: 2 }, BINARY),
    ("Native", Shape::Rows, BINARY),
    ("Null", Shape::Whole, TSV),
    ("Values", Shape::Whole, TSV),
    ("RawBLOB", Shape::Whole, BINARY),
    ("LineAsString", Shape::Rows, TSV),
    ("JSON", Shape::Whole, JSON),
    ("JSONStrings", Shape::Whole, JSON),
    ("JSONCompact", Shape::Whole, JSON),
    ("JSONCompactStrings", Shape::Whole, JSON),
    ("JSONColumns", Shape::Whole, JSON),
    ("JSONCompactColumns", Shape::Whole, JSON),
    ("JSONColumnsWithMetadata", Shape::Whole, JSON),
    ("JSONObjectEachRow", Shape::Whole, JSON),
    ("Parquet", Shape::Whole, BINARY),
    ("Arrow", Shape::Whole, BINARY),
    ("ArrowStream", Shape::Whole, BINARY),
    ("ORC", Shape::Whole, BINARY),
    ("MsgPack", Shape::Rows, BINARY),
    ("Pretty", Shape::Whole, TEXT),
    ("PrettyNoEscapes", Shape::Whole, TEXT),
    ("PrettyCompact", Shape::Whole, TEXT),
    ("PrettyCompactMonoBlock", Shape::Whole, TEXT),
    ("PrettyCompactNoEscapes", Shape::Whole, TEXT),
    ("PrettySpace", Shape::Whole, TEXT),
    ("PrettySpaceNoEscapes", Shape::Whole, TEXT),
    ("PrettyJSONEachRow", Shape::Whole, NDJSON),
    ("Vertical", Shape::Whole, TEXT),
    ("Markdown", Shape::Whole, TEXT),
    ("XML", Shape::Whole, TEXT),
    ("SQLInsert", Shape::Whole, TEXT),
    ("Prometheus", Shape::Whole, TEXT),
];

const TSV: &str = "text/tab-separated-values; charset=UTF-8";
const CSV: &str = "text/csv; charset=UTF-8; header=absent";
const NDJSON: &str = "application/x-ndjson; charset=UTF-8";
const JSON: &str = "application/json; charset=UTF-8";
const BINARY: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=UTF-8";

const fn lines(count: usize) -> Shape {
    Shape::Lines { count, quoted: false }
}

const fn quoted(count: usize) -> Shape {
    Shape::Lines { count, quoted: true }
}

/// A format of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// As ClickHouse spells it.
    pub name: &'static str,
    /// How its documents are joined.
    pub shape: Shape,
    /// For the `Content-Type` header.
    pub media_type: &'static str,
}

impl Format {
    /// Looks a format up, in any case.
    pub fn named(name: &str) -> Result<Self, Exception> {
        FORMATS
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name))
            .map(|&(name, shape, media_type)| Format { name, shape, media_type })
            .ok_or_else(|| {
                Exception::new(
                    Code::UnknownFormat,
                    format!("Unknown format {name}: the embedded engine does not offer it"),
                )
            })
    }
}

/// Joins chunks: keeps the first header, takes it off the later ones.
#[derive(Debug)]
pub struct Joiner {
    shape: Shape,
    header: Option<Vec<u8>>,
}

impl Joiner {
    /// For one stream in a format of this shape.
    pub fn new(shape: Shape) -> Self {
        Joiner { shape, header: None }
    }

    /// The part of the next chunk that goes out. An error is a chunk that doesn't start as the first did.
    pub fn join<'c>(&mut self, chunk: &'c [u8]) -> Result<&'c [u8], Exception> {
        let broken =
            || Exception::new(Code::CannotReadAllData, "A chunk of the result has no header like the first");
        match &self.header {
            Some(header) => chunk.strip_prefix(header.as_slice()).ok_or_else(broken),
            None => {
                let length = header_length(self.shape, chunk).ok_or_else(broken)?;
                self.header = Some(chunk[..length].to_vec());
                Ok(chunk)
            }
        }
    }
}

/// Bytes of the header that `document` starts with; `None` when it is cut.
fn header_length(shape: Shape, document: &[u8]) -> Option<usize> {
    match shape {
        Shape::Rows | Shape::Whole => Some(0),
        Shape::Lines { count, quoted } => {
            let mut open = false;
            let mut ends = document.iter().enumerate().filter_map(|(index, byte)| {
                open ^= quoted && *byte == b'"';
                (*byte == b'\n' && !open).then_some(index + 1)
            });
            ends.nth(count - 1)
        }
        Shape::Binary { strings_per_column } => {
            let mut at = 0;
            let columns = varint(document, &mut at)?;
            for _ in 0..columns.checked_mul(strings_per_column)? {
                let length = varint(document, &mut at)?;
                at = at.checked_add(length).filter(|end| *end <= document.len())?;
            }
            Some(at)
        }
    }
}

/// Reads an LEB128 number at `at` and moves behind it.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_headers_are_left_out() {
        joins("CSVWithNames", &[b"\"a\nb\"\n1\n", b"\"a\nb\"\n2\n"], b"\"a\nb\"\n1\n2\n");
        joins("tsvwithnamesandtypes", &[b"a\nUInt8\n1\n", b"a\nUInt8\n2\n"], b"a\nUInt8\n1\n2\n");
        let binary: [&[u8]; 2] = [b"\x01\x01a\x05UInt8\x07", b"\x01\x01a\x05UInt8\x08"];
        joins("RowBinaryWithNamesAndTypes", &binary, b"\x01\x01a\x05UInt8\x07\x08");
        joins("JSONEachRow", &[b"{}\n", b"{}\n"], b"{}\n{}\n");
    }

    fn joins(name: &str, chunks: &[&[u8]], expected: &[u8]) {
        let mut joiner = Joiner::new(Format::named(name).expect("offered").shape);
        let joined: Vec<u8> =
            chunks.iter().flat_map(|chunk| joiner.join(chunk).expect("a header").to_vec()).collect();
        assert_eq!(joined, expected, "{name}");
    }

    #[test]
    fn a_chunk_with_another_header_is_an_error() {
        let mut joiner = Joiner::new(lines(1));
        joiner.join(b"a\n1\n").expect("the first");
        assert!(joiner.join(b"b\n2\n").is_err());
        assert!(Joiner::new(Shape::Binary { strings_per_column: 2 }).join(b"\x02\x01a").is_err());
    }

    #[test]
    fn formats_that_read_files_are_not_offered() {
        for name in ["Template", "Protobuf", "CapnProto", "AvroConfluent", "Nonsense"] {
            assert_eq!(Format::named(name).expect_err(name).code, 73);
        }
    }
}
