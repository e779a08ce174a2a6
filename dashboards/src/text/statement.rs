//! A statement as text, in the shape that a person can sign: lines, where the money went, and the proof.

use crate::line::{LineView, bounds, percent, unpriced, versions};
use crate::table::{Column, WIDTH_MAX, plain, render, wrap};
use billing::rating::{Line, LineBasis, LineKey};
use billing::statement::{Context, PlatformStatement, ProofRow, Statement, Totals, by_model};
use billing::words;

/// More devices than this are grouped by model; CSV, JSON and the page list each.
pub(crate) const PROOF_ROWS_MAX: usize = 20;

const COLUMNS: [Column; 9] = [
    Column::Left,
    Column::Fill,
    Column::Right,
    Column::Right,
    Column::Right,
    Column::Right,
    Column::Right,
    Column::Right,
    Column::Wrap(18),
];

/// A tenant's statement.
pub fn statement(statement: &Statement) -> String {
    let tenant = &statement.tenant;
    let cost_centres = words::cost_centres(&statement.cost_centres, statement.context.period.zone());
    let cost_centres = cost_centres.map_or_else(String::new, |c| format!("   cost centre {c}"));
    let whose = format!("   {} ({}){cost_centres}", tenant.name, statement.path);
    let mut out = heading(&statement.number, &whose, &statement.context);
    if statement.last {
        paragraph(&mut out, words::LAST_STATEMENT);
    }
    out.push_str(&lines_table(statement));
    out.push_str(&sums(&statement.totals, &statement.currency));
    if let Some(converted) = words::converted(statement) {
        paragraph(&mut out, &converted);
    }
    let priced = if statement.totals.unpriced_lines == 0 { "" } else { ", priced lines" };
    let (went, show) = (&statement.where_it_went, |amount| statement.currency.show(amount));
    paragraph(
        &mut out,
        &format!(
            "Where it went (L1-L{}{priced}): busy {} + held, not busy {} + use unknown {} = {}",
            statement.lines.len(),
            show(went.busy),
            show(went.not_busy),
            show(went.unknown),
            show(statement.totals.usage),
        ),
    );
    out.push_str(&proof(statement));
    paragraph(
        &mut out,
        &format!(
            "Observed: {} of these devices' time. Energy: {} kWh, shown at price 0.",
            percent(statement.coverage().basis_points()),
            words::kwh(statement.totals.energy_mj),
        ),
    );
    let notes = unpriced(
        statement.lines.iter().map(|l| (format!("L{}", l.number), &l.key.price, l.key.model.as_str())),
    );
    for note in notes {
        paragraph(&mut out, &note);
    }
    out
}

/// The platform's own statement: what nobody held, and use that nobody could be found for.
pub fn platform(statement: &PlatformStatement) -> String {
    let mut out = heading(&statement.number, "   capacity that no tenant held", &statement.context);
    let mut rows = vec![header(statement.currency.code(), "what (basis: held)")];
    let above = std::iter::once(None).chain(statement.lines.iter().map(Some));
    let platform = statement.lines.iter().zip(above).map(|(line, above)| {
        let view = LineView::of_platform(line, &statement.currency);
        let same = above.is_some_and(|above| (&above.model, above.kind) == (&line.model, line.kind));
        if same { LineView { what: "same, new price".into(), ..view } } else { view }
    });
    let nobody = statement.unattributed.iter().map(|line| {
        let view = LineView::of(line, &statement.currency);
        let why = words::unattributed(line.key.ended.as_ref(), statement.context.period.zone());
        LineView { what: format!("{why}: {}", view.what), ..view }
    });
    let charges = statement.charges.iter().map(|row| LineView::of_charge(row, &statement.currency));
    rows.extend(platform.chain(nobody).chain(charges).map(cells));
    rows.push(total_row(words::PLATFORM_TOTAL, &statement.totals, &statement.currency));
    out.push_str(&render(&COLUMNS, &rows));
    out.push_str(&sums(&statement.totals, &statement.currency));
    paragraph(
        &mut out,
        &format!(
            "Ghost (busy, no owner to be found): {} GPU-hours, inside the time above or inside a tenant's; not added.",
            words::gpu_hours_short(statement.ghost)
        ),
    );
    let of_platform = statement.lines.iter().map(|l| (format!("P{}", l.number), &l.price, l.model.as_str()));
    let of_nobody =
        statement.unattributed.iter().map(|l| (format!("L{}", l.number), &l.key.price, l.key.model.as_str()));
    for note in unpriced(of_platform.chain(of_nobody)) {
        paragraph(&mut out, &note);
    }
    out
}

/// Three lines: what and whose, when, and made of which versions.
pub(super) fn heading(number: &str, whose: &str, context: &Context) -> String {
    let mut out = String::new();
    if let Some(watermark) = words::watermark(context.mode) {
        out.push_str(watermark);
        out.push('\n');
    }
    let first =
        format!("STATEMENT {number} rev {}  {}{whose}", context.revision, words::status(context.status));
    for line in [plain(&first), bounds(context), versions(context)] {
        paragraph(&mut out, &line);
    }
    for waiver in context.closed.iter().flat_map(|closed| &closed.waivers) {
        paragraph(&mut out, &words::waiver(waiver));
    }
    out
}

/// Wrapped to the width; continuation lines are indented.
pub(super) fn paragraph(out: &mut String, text: &str) {
    indented(out, "", text);
}

/// As [`paragraph`], with all lines moved in.
pub(super) fn indented(out: &mut String, indent: &str, text: &str) {
    for (at, line) in wrap(&plain(text), WIDTH_MAX - 2 - indent.len()).into_iter().enumerate() {
        out.push_str(indent);
        out.push_str(if at > 0 { "  " } else { "" });
        out.push_str(&line);
        out.push('\n');
    }
}

fn lines_table(statement: &Statement) -> String {
    let mut rows = vec![header(statement.currency.code(), basis(statement))];
    let mut last: Option<&Line> = None;
    for line in &statement.lines {
        let view = LineView::of(line, &statement.currency);
        let same = last.and_then(|last| same_but(&last.key, &line.key));
        let what = match (same, words::tier(&line.key.price)) {
            (Some(same), None) if words::charged(line).is_none() => same.to_owned(),
            _ => view.what.clone(),
        };
        rows.push(cells(LineView { what, ..view }));
        last = Some(line);
    }
    if !statement.charges.is_empty() {
        rows.push(usage_row(statement));
    }
    rows.extend(statement.charges.iter().map(|row| cells(LineView::of_charge(row, &statement.currency))));
    rows.push(total_row(words::total(statement.context.mode), &statement.totals, &statement.currency));
    render(&COLUMNS, &rows)
}

/// What the lines of usage come to, before charges.
fn usage_row(statement: &Statement) -> Vec<String> {
    let held = statement.lines.iter().map(|line| line.sums.held).sum();
    let totals = Totals { quantity: held, amount: statement.totals.usage, ..statement.totals };
    total_row("usage", &totals, &statement.currency)
}

/// A line that differs from the one above in one thing says only that.
fn same_but(above: &LineKey, key: &LineKey) -> Option<&'static str> {
    let alike = LineKey { price: above.price.clone(), ..key.clone() };
    if alike == *above && key.price.unit().is_some() {
        let list = |key: &LineKey| key.price.rate().map(|rate| rate.list);
        return Some(match above.price.unit() == key.price.unit() {
            false => "same, new price",
            // A reservation's price stays while the list price that it replaces changes.
            true if list(above) != list(key) => "same, other list price",
            true => "same, other price entry",
        });
    }
    let watched = LineKey { unwatched: above.unwatched, ..key.clone() };
    (watched == *above && key.unwatched).then_some("same, collector gap")
}

/// What the lines are charged by, for the head of their column.
fn basis(statement: &Statement) -> &'static str {
    let held = statement.lines.iter().all(|line| line.key.basis == LineBasis::default());
    if held { "what (basis: held)" } else { "what (basis: held, where nothing else is said)" }
}

fn header(currency: &str, what: &'static str) -> Vec<String> {
    let price = format!("x {currency}");
    let amount = format!("= {currency}");
    ["", what, "natural", "share", "GPU-hours", &price, &amount, "obs%", "quality"].map(String::from).into()
}

fn cells(line: LineView) -> Vec<String> {
    [
        line.number,
        line.what,
        line.natural,
        line.share,
        line.gpu_hours,
        line.price,
        line.amount,
        line.observed,
        line.quality,
    ]
    .map(|cell| plain(&cell))
    .into()
}

fn total_row(word: &str, totals: &Totals, currency: &billing::money::Currency) -> Vec<String> {
    let quantity = words::gpu_hours(totals.quantity);
    let amount = currency.show(totals.amount);
    ["", word, "", "", &quantity, currency.code(), &amount, "", ""].map(String::from).into()
}

fn sums(totals: &Totals, currency: &billing::money::Currency) -> String {
    let mut out = String::new();
    paragraph(
        &mut out,
        &format!(
            "Rounding: each line is rounded once to {}; posted {} less exact {} is {}.",
            currency.code(),
            currency.decimal(totals.amount),
            totals.exact,
            totals.rounding,
        ),
    );
    out
}

fn proof(statement: &Statement) -> String {
    let mut out = String::new();
    if statement.proof.len() > PROOF_ROWS_MAX {
        let title = format!(
            "Proof, hours of the {} devices in which you had a share, by model (each device: CSV, JSON or the page):",
            statement.proof.len()
        );
        paragraph(&mut out, &title);
        for model in by_model(&statement.proof) {
            let name = format!("{} x {}", model.devices, words::short_model(&model.sum.model));
            paragraph(&mut out, &proof_line(&name, &model.sum));
        }
        return out;
    }
    paragraph(&mut out, "Proof, hours of each device in which you had a share:");
    for row in &statement.proof {
        let name = format!("{} {}", words::short_model(&row.model), row.device);
        paragraph(&mut out, &proof_line(&name, row));
    }
    out
}

/// `  L40S GPU-1  174 yours + 348 others + 174 free + 24 unavailable = 720`; parts of no time are left out.
fn proof_line(name: &str, row: &ProofRow) -> String {
    let some = row.parts().into_iter().filter(|(_, part)| part.0 != 0);
    let parts: Vec<String> =
        some.map(|(word, part)| format!("{} {word}", words::gpu_hours_short(part))).collect();
    format!("- {name}: {} = {}", parts.join(" + "), words::gpu_hours_short(row.capacity))
}
