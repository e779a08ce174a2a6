//! Posted months by some dimensions, as a table.

use crate::table::{Column, plain, render};
use billing::grouping::{Figures, Groups};
use billing::words;

/// The groups, dearest first, and their sum.
pub fn groups(groups: &Groups, period: &str) -> String {
    let figures = |row: &Figures| {
        let hours = |time| words::gpu_hours_short(time);
        let amount = groups.currency.show(row.amount);
        [hours(row.held), hours(row.busy), hours(row.not_busy), hours(row.unknown), amount]
    };
    let heads =
        ["GPU-hours", "busy", "held, not busy", "use unknown", groups.currency.code()].map(String::from);
    let mut rows: Vec<Vec<String>> = vec![groups.heads.iter().cloned().chain(heads).collect()];
    let mut by_cost: Vec<_> = groups.rows.iter().collect();
    // A stable sort: groups of one cost stay in the order of their names.
    by_cost.sort_by_key(|(_, row)| std::cmp::Reverse(row.amount));
    for (values, row) in by_cost {
        rows.push(values.iter().map(|value| plain(value)).chain(figures(row)).collect());
    }
    let total = groups.total();
    let names = (0..groups.heads.len()).map(|at| if at == 0 { "all".to_owned() } else { String::new() });
    rows.push(names.chain(figures(&total)).collect());
    let columns: Vec<Column> = groups.heads.iter().map(|_| Column::Left).chain([Column::Right; 5]).collect();
    let mut out = format!("{period} by {}\n{}", groups.heads.join(", "), render(&columns, &rows));
    if total.unpriced.0 != 0 {
        let unpriced = words::gpu_hours_short(total.unpriced);
        out.push_str(&format!("{unpriced} of these GPU-hours have no price and are in no amount\n"));
    }
    out
}
