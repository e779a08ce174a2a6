//! CSV after RFC 4180: lines, the platform's lines, and the proof, each a table of its own, so that a column summed
//! naively is the ledger's total.
//!
//! A text cell that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay numbers.

use crate::charge::{Charge, ChargeKind};
use crate::instant::local;
use crate::money::Currency;
use crate::post::Numbered;
use crate::rating::{Line, PlatformLine};
use crate::statement::{PlatformStatement, Statement};
use crate::words;
use chrono_tz::Tz;

const LINE_COLUMNS: &str = "statement,revision,status,mode,period,period_start_utc,period_end_utc,tenant,tenant_path,\
    cost_centre,line,model,sharing,profile,share_num,share_den,quality,natural_hours_unit,natural_ms,observed_ms,\
    gpu_hours,busy_gpu_hours,not_busy_gpu_hours,use_unknown_gpu_hours,energy_mj,price_entry,unit_price,exact_cost,\
    currency,amount,price_state,price_version,mapping_version,kind,what,basis,quantity,unit,list_unit_price,reference";

const PLATFORM_COLUMNS: &str = "statement,revision,status,period,line,model,what,gpu_hours,price_entry,unit_price,\
    exact_cost,currency,amount,price_state,kind,reference";

const PROOF_COLUMNS: &str = "statement,tenant,device,node,model,yours_gpu_hours,others_gpu_hours,free_gpu_hours,\
    stranded_gpu_hours,unavailable_gpu_hours,unobserved_gpu_hours,capacity_gpu_hours";

/// The lines of one or more statements: the sum of `amount` is the sum of their totals.
pub fn lines(statements: &[&Statement]) -> Vec<u8> {
    let mut table = Table::new(LINE_COLUMNS);
    for statement in statements {
        for line in &statement.lines {
            table.row(&line_cells(statement, line));
        }
        for row in &statement.charges {
            table.row(&charge_cells(statement, row));
        }
    }
    table.bytes()
}

/// What the platform keeps: capacity that nobody held, then use that nobody could be found for.
pub fn platform(statement: &PlatformStatement) -> Vec<u8> {
    let mut table = Table::new(PLATFORM_COLUMNS);
    for line in &statement.lines {
        table.row(&platform_cells(statement, line));
    }
    for line in &statement.unattributed {
        let why = words::unattributed(line.key.ended.as_ref(), statement.context.period.zone());
        let what = format!("{why}: {}", words::line_what(&line.key));
        let mut cells = platform_head(statement, format!("L{}", line.number));
        cells.extend([
            Cell::Text(line.key.model.clone()),
            Cell::Text(what),
            Cell::Number(line.sums.held.to_string()),
        ]);
        cells.extend(price_cells(
            statement.currency.code(),
            &line.key.price,
            line.exact,
            amount_of(statement, line.amount),
        ));
        cells.extend([Cell::Text("usage".into()), Cell::Text(String::new())]);
        table.row(&cells);
    }
    for row in &statement.charges {
        let charge = &row.charge;
        let mut cells = platform_head(statement, row.number.clone());
        cells.extend([
            Cell::Text(String::new()),
            Cell::Text(charge.what.clone()),
            Cell::Number(charge.held.to_string()),
        ]);
        cells.extend(charge_price_cells(charge, &statement.currency));
        cells.extend([Cell::Text(kind_name(charge.kind)), Cell::Text(charge.reference.clone())]);
        table.row(&cells);
    }
    table.bytes()
}

/// The proof of one or more statements, a row for each device.
pub fn proof(statements: &[&Statement]) -> Vec<u8> {
    let mut table = Table::new(PROOF_COLUMNS);
    for statement in statements {
        for row in &statement.proof {
            let mut cells: Vec<Cell> =
                [&statement.number, statement.tenant.id.as_str(), &row.device, &row.node, &row.model]
                    .map(|text: &str| Cell::Text(text.into()))
                    .into();
            cells.extend(row.parts().map(|(_, part)| Cell::Number(part.to_string())));
            cells.push(Cell::Number(row.capacity.to_string()));
            table.row(&cells);
        }
    }
    table.bytes()
}

/// The cells of a statement that its rows begin with, up to the row's number.
fn row_head(statement: &Statement, row: String) -> Vec<Cell> {
    let context = &statement.context;
    let text = |t: &str| Cell::Text(t.into());
    let number = |n: &dyn std::fmt::Display| Cell::Number(n.to_string());
    let utc = |at_ms| Cell::Text(local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%M:%SZ").to_string());
    let window = context.period.window();
    vec![
        text(&statement.number),
        number(&context.revision),
        text(words::status(context.status)),
        text(if words::watermark(context.mode).is_some() { "showback" } else { "chargeback" }),
        text(context.period.label()),
        utc(window.start_ms),
        utc(window.end_ms),
        text(statement.tenant.id.as_str()),
        text(&statement.path),
        text(statement.tenant.cost_centre.as_deref().unwrap_or("")),
        Cell::Text(row),
    ]
}

fn line_cells(statement: &Statement, line: &Line) -> Vec<Cell> {
    let (context, key) = (&statement.context, &line.key);
    let text = |t: &str| Cell::Text(t.into());
    let number = |n: &dyn std::fmt::Display| Cell::Number(n.to_string());
    let mut cells = row_head(statement, format!("L{}", line.number));
    cells.extend([
        text(&key.model),
        text(words::sharing(key.sharing)),
        text(&key.profile),
        number(&key.share.num),
        number(&key.share.den),
        Cell::Text(words::line_quality(key)),
        text(words::natural_unit(key.sharing)),
        number(&line.sums.natural_ms),
        number(&line.sums.observed_ms),
        number(&line.sums.held),
        number(&line.busy_held()),
        number(&line.not_busy_held()),
        number(&line.unknown_held()),
        number(&line.sums.energy_mj),
    ]);
    let amount = line.amount.map(|amount| statement.currency.decimal(amount));
    cells.extend(price_cells(statement.currency.code(), &key.price, line.exact, amount));
    cells.extend([number(&context.prices.number), number(&context.mapping.number)]);
    cells.extend([
        text("usage"),
        Cell::Text(words::line_what(key)),
        Cell::Text(key.basis.charged.to_string()),
        Cell::Number(nano(line.quantity.nano)),
        text(line.quantity.unit.word()),
        Cell::Number(key.price.rate().map(|rate| rate.list.to_string()).unwrap_or_default()),
        text(""),
    ]);
    cells
}

/// A row that isn't usage: cells that only usage has are empty.
fn charge_cells(statement: &Statement, row: &Numbered) -> Vec<Cell> {
    /// Columns between the row's number and its GPU-hours, and from there to its price entry.
    const BEFORE: usize = 9;
    const AFTER: usize = 4;
    let (context, charge) = (&statement.context, &row.charge);
    let number = |n: &dyn std::fmt::Display| Cell::Number(n.to_string());
    let empty = |count: usize| std::iter::repeat_with(|| Cell::Number(String::new())).take(count);
    let mut cells = row_head(statement, row.number.clone());
    cells.extend(empty(BEFORE));
    cells.push(number(&charge.held));
    cells.extend(empty(AFTER));
    cells.extend(charge_price_cells(charge, &statement.currency));
    cells.extend([number(&context.prices.number), number(&context.mapping.number)]);
    let quantity = charge.quantity;
    cells.extend([
        Cell::Text(kind_name(charge.kind)),
        Cell::Text(charge.what.clone()),
        Cell::Text(String::new()),
        Cell::Number(quantity.map(|q| nano(q.nano)).unwrap_or_default()),
        Cell::Text(quantity.map(|q| q.unit.word().to_owned()).unwrap_or_default()),
        Cell::Number(String::new()),
        Cell::Text(charge.reference.clone()),
    ]);
    cells
}

/// Price entry, unit price, exact cost, currency, amount, state of a charge.
fn charge_price_cells(charge: &Charge, currency: &Currency) -> [Cell; 6] {
    [
        Cell::Text(String::new()),
        Cell::Number(charge.unit_price.map(|price| price.to_string()).unwrap_or_default()),
        Cell::Number(charge.exact.to_string()),
        Cell::Text(currency.code().into()),
        Cell::Number(currency.decimal(charge.amount)),
        Cell::Text("priced".into()),
    ]
}

/// `basis-difference`: the kind for machines.
fn kind_name(kind: ChargeKind) -> String {
    kind.word().replace(' ', "-")
}

/// A quantity in 1e-9 of its unit, as a decimal.
fn nano(nano: i64) -> String {
    schema::units::NanoGpuHours(nano).to_string()
}

fn platform_cells(statement: &PlatformStatement, line: &PlatformLine) -> Vec<Cell> {
    let mut cells = platform_head(statement, format!("P{}", line.number));
    cells.extend([
        Cell::Text(line.model.clone()),
        Cell::Text(line.kind.word().into()),
        Cell::Number(line.quantity.to_string()),
    ]);
    cells.extend(price_cells(
        statement.currency.code(),
        &line.price,
        line.exact,
        amount_of(statement, line.amount),
    ));
    cells.extend([Cell::Text("capacity".into()), Cell::Text(String::new())]);
    cells
}

fn platform_head(statement: &PlatformStatement, line: String) -> Vec<Cell> {
    vec![
        Cell::Text(statement.number.clone()),
        Cell::Number(statement.context.revision.to_string()),
        Cell::Text(words::status(statement.context.status).into()),
        Cell::Text(statement.context.period.label().into()),
        Cell::Text(line),
    ]
}

fn amount_of(statement: &PlatformStatement, amount: Option<crate::money::Amount>) -> Option<String> {
    amount.map(|amount| statement.currency.decimal(amount))
}

/// Price entry, unit price, exact cost, currency, amount, state; an unpriced line has empty cells, not zeros.
fn price_cells(
    currency: &str,
    price: &crate::rating::LinePrice,
    exact: Option<crate::money::Exact>,
    amount: Option<String>,
) -> [Cell; 6] {
    let number = |n: Option<String>| Cell::Number(n.unwrap_or_default());
    [
        Cell::Text(price.entry().unwrap_or("").into()),
        number(price.unit().map(|p| p.to_string())),
        number(exact.map(|e| e.to_string())),
        Cell::Text(currency.into()),
        number(amount),
        Cell::Text(if price.unit().is_some() { "priced" } else { "unpriced" }.into()),
    ]
}

/// A cell: text from the world, or a number that we made.
enum Cell {
    Text(String),
    Number(String),
}

/// A table while its rows come in.
struct Table(String);

impl Table {
    fn new(columns: &str) -> Self {
        Self(format!("{columns}\r\n"))
    }

    fn row(&mut self, cells: &[Cell]) {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.0.push(',');
            }
            match cell {
                Cell::Number(number) => self.0.push_str(number),
                Cell::Text(text) => self.0.push_str(&quoted(text)),
            }
        }
        self.0.push_str("\r\n");
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// A text cell: harmless to a spreadsheet, quoted where it must be.
fn quoted(text: &str) -> String {
    let safe = harmless(text);
    if safe.contains([',', '"', '\r', '\n', ';', '\t']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe
    }
}

/// A text with an apostrophe in front where a spreadsheet would take it for a formula.
pub(super) fn harmless(text: &str) -> String {
    // Full-width forms are folded to ASCII by some spreadsheets before they look for a formula.
    const STARTS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '＠'];
    let first = text.trim_start_matches([' ', '\u{a0}']);
    if first.starts_with(STARTS) { format!("'{text}") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn no_text_cell_is_a_formula() {
        for (text, want) in [
            ("plain", "plain"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("  =1", "'  =1"),
            ("\t=1", "\"'\t=1\""),
            ("＝1", "'＝1"),
            ("a,b", "\"a,b\""),
            ("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""),
            ("a\r\n=b", "\"a\r\n=b\""),
            ("", ""),
        ] {
            assert_eq!(quoted(text), want, "{text:?}");
        }
    }
}
