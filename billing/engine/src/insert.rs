//! Inserts with data, whole or not at all.
//!
//! Finishing an insert whose body was cut commits what came, and a failed insert keeps the blocks
//! written before the failure. So the body is complete in memory before the engine sees it (the
//! HTTP layer checks its length and its limit), and the engine is told to make one block of it.

use hyper::body::Bytes;

use crate::exception::Exception;
use crate::ffi::{Connection, Parameters, Statistics};

/// Settings that make one block of a whole body. The engine's default would cut it at about a
/// million rows, and a failure in the second block would keep the first.
const ONE_BLOCK: &[(&str, &str)] = &[
    ("max_insert_block_size", "1000000000"),
    ("min_insert_block_size_rows", "0"),
    ("min_insert_block_size_bytes", "0"),
    ("input_format_parallel_parsing", "0"),
    // Acknowledged means stored, not queued.
    ("async_insert", "0"),
];

/// The request's settings, with ours in place of any that would break the rule.
pub fn settings(given: &[(String, String)]) -> Vec<(String, String)> {
    let ours = ONE_BLOCK.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let kept = given.iter().filter(|(name, _)| ONE_BLOCK.iter().all(|(ours, _)| ours != name));
    kept.cloned().chain(ours).collect()
}

/// Inserts `data`, in `format`, by the statement `sql` without FORMAT clause.
pub fn run(
    connection: &mut Connection,
    sql: &[u8],
    format: &str,
    data: &[Bytes],
    parameters: &Parameters,
) -> Result<Statistics, Exception> {
    let mut insert = connection.insert(sql, format, parameters)?;
    for part in data {
        insert.append(part)?;
    }
    insert.commit()
}
