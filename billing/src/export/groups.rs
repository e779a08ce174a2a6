//! Groups of posted months as CSV and JSON.

use super::csv::harmless;
use super::json::bytes;
use crate::grouping::{Figures, Groups};
use crate::money::Currency;
use serde_json::{Map, Value, json};

/// The figures of a group by name, as machines read them.
fn figures(figures: &Figures, currency: &Currency) -> [(&'static str, String); 6] {
    [
        ("gpu_hours", figures.held.to_string()),
        ("busy_gpu_hours", figures.busy.to_string()),
        ("not_busy_gpu_hours", figures.not_busy.to_string()),
        ("use_unknown_gpu_hours", figures.unknown.to_string()),
        ("unpriced_gpu_hours", figures.unpriced.to_string()),
        ("amount", currency.decimal(figures.amount)),
    ]
}

/// A row for each group; the sum of `amount` is what was posted.
pub fn csv(groups: &Groups) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let mut write = |cells: Vec<String>| writer.write_record(cells).expect("memory takes every row");
    let names = figures(&Figures::default(), &groups.currency).map(|(name, _)| name.to_owned());
    write(groups.heads.iter().cloned().chain(names).chain(["currency".into()]).collect());
    for (values, row) in &groups.rows {
        let own = figures(row, &groups.currency).map(|(_, value)| value);
        let cells = values.iter().map(|value| harmless(value)).chain(own);
        write(cells.chain([groups.currency.code().into()]).collect());
    }
    writer.into_inner().expect("memory is flushed")
}

/// The groups and their sum, decimals as strings.
pub fn json(groups: &Groups, period: &str) -> Vec<u8> {
    let object = |row: &Figures| -> Map<String, Value> {
        figures(row, &groups.currency).into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    let rows = groups.rows.iter().map(|(values, row)| {
        let mut row = object(row);
        let by: Map<String, Value> =
            groups.heads.iter().cloned().zip(values.iter().map(|v| v.as_str().into())).collect();
        row.insert("by".into(), by.into());
        Value::from(row)
    });
    bytes(&json!({
        "period": period,
        "currency": groups.currency,
        "groups": rows.collect::<Vec<_>>(),
        "total": object(&groups.total()),
    }))
}
