//! A line and a heading in words, for text and pages alike.

use billing::instant::local;
use billing::money::Currency;
use billing::rating::{Line, PlatformLine};
use billing::statement::Context;
use billing::words;
use chrono_tz::Tz;

/// A line as a person reads it; every field is text.
#[derive(Debug, Clone)]
pub(crate) struct LineView {
    /// `L3`.
    pub number: String,
    /// What it is, in full.
    pub what: String,
    /// `714 inst-h`.
    pub natural: String,
    /// `3/7`.
    pub share: String,
    /// Quantity with 9 decimals.
    pub gpu_hours: String,
    /// Unit price, or `unpriced`.
    pub price: String,
    /// Posted amount; a dash where there is no price.
    pub amount: String,
    /// Whole percent observed.
    pub observed: String,
    /// How well it is known.
    pub quality: String,
}

/// Shown where an unpriced line has no amount: it is not zero.
pub(crate) const NO_AMOUNT: &str = "-";

impl LineView {
    pub fn of(line: &Line, currency: &Currency) -> Self {
        let key = &line.key;
        Self {
            number: format!("L{}", line.number),
            what: words::line_what(key),
            natural: format!("{} {}", words::hours(line.sums.natural_ms), words::natural_unit(key.sharing)),
            share: key.share.to_string(),
            gpu_hours: words::gpu_hours(line.sums.held),
            price: words::price(&key.price),
            amount: line.amount.map_or_else(|| NO_AMOUNT.into(), |amount| currency.show(amount)),
            observed: line.observed_percent().to_string(),
            quality: words::line_quality(key),
        }
    }

    /// A line of capacity that nobody held: it has no natural time, share or quality.
    pub fn of_platform(line: &PlatformLine, currency: &Currency) -> Self {
        Self {
            number: format!("P{}", line.number),
            what: format!("{} {}", words::short_model(&line.model), line.kind.word()),
            natural: String::new(),
            share: String::new(),
            gpu_hours: words::gpu_hours(line.quantity),
            price: words::price(&line.price),
            amount: line.amount.map_or_else(|| NO_AMOUNT.into(), |amount| currency.show(amount)),
            observed: String::new(),
            quality: String::new(),
        }
    }
}

/// `prices v4 (9f2c01ab44de); mapping v12 (...); data through 2026-10-01 03:00 UTC`.
pub(crate) fn versions(context: &Context) -> String {
    let short = |hash: &str| hash.chars().take(12).collect::<String>();
    let data = context.data_through_ms.map_or_else(
        || "no data yet".to_string(),
        |at_ms| format!("data through {} UTC", local(at_ms, Tz::UTC).format("%Y-%m-%d %H:%M")),
    );
    format!(
        "prices v{} ({}); mapping v{} ({}); {data}",
        context.prices.number,
        short(&context.prices.hash),
        context.mapping.number,
        short(&context.mapping.hash),
    )
}

/// `1 Sep 2026 00:00 - 1 Oct 2026 00:00 America/Sao_Paulo = ...Z..., 720 h`.
pub(crate) fn bounds(context: &Context) -> String {
    let period = &context.period;
    format!("{} = {}, {} h", period.local_bounds(), period.utc_bounds(), period.hours())
}

/// Hundredths of a percent: `99.88 %`.
pub(crate) fn percent(basis_points: i64) -> String {
    format!("{}.{:02} %", basis_points / 100, basis_points % 100)
}

/// The remedies of a statement's unpriced lines, each once.
pub(crate) fn unpriced<'a>(
    lines: impl Iterator<Item = (String, &'a billing::rating::LinePrice, &'a str)>,
) -> Vec<String> {
    lines
        .filter_map(|(number, price, model)| {
            Some(format!("{number} is unpriced and has no amount: {}", words::unpriced_remedy(price, model)?))
        })
        .collect()
}
