//! One version of the price book against another, and against the fleet: prices that jumped, what changed in the past,
//! and which entries price nothing.

use super::{PriceBook, Span};
use crate::glob;
use std::collections::{BTreeMap, BTreeSet};

/// Beyond this factor up or down a new price is to be confirmed: ten times is a slipped decimal point.
const JUMP: i128 = 10;

/// A price far from the last one for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// `price "h100"` or `exchange rate "2"`, and of what.
    pub what: String,
    /// The last figure, for people.
    pub before: String,
    /// The new one.
    pub after: String,
}

/// Something that the other version says differently of a span in the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `price of model "NVIDIA H100*"`.
    pub what: String,
    /// Section of the file.
    pub section: &'static str,
    /// The entries that differ, as a `[[change]]` names them: ids, or section and place.
    pub entries: Vec<String>,
    /// First instant at which it differs, Unix milliseconds.
    pub from_ms: i64,
    /// First instant at which it no longer differs, or the instant that was asked for.
    pub to_ms: i64,
    /// What held in the old version: the entry and its figures. `None` where nothing did.
    pub before: Option<String>,
    /// What holds in the new one.
    pub after: Option<String>,
}

/// A price and the models of the fleet that its pattern fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// Id of the entry.
    pub entry: String,
    /// Models, in the order of the alphabet; empty for an entry that prices nothing that was seen.
    pub models: Vec<String>,
}

/// An entry of any section, comparable across versions.
struct Figure {
    section: &'static str,
    /// What it is of: entries of one section and scope follow each other in time.
    scope: String,
    name: String,
    span: Span,
    value: String,
    /// For entries with one main figure: comparable within section, scope and this word (unit and currency).
    amount: Option<(String, i128)>,
    confirmed: bool,
}

impl Figure {
    /// As a `[[change]]` names it.
    fn called(&self) -> String {
        match self.section {
            "mig_factor" | "exchange_rate" | "basis" => format!("{} {}", self.section, self.name),
            _ => self.name.clone(),
        }
    }

    fn shown(&self) -> String {
        format!("{} ({})", self.value, self.name)
    }
}

impl PriceBook {
    /// Prices, exchange rates and prices of service units that are new or changed and lie outside a tenth to ten times
    /// the last figure: that of the entry of the same id, else the one before it for the same. An entry with
    /// `jump_confirmed` is meant.
    pub fn jumps(&self, old: &PriceBook) -> Vec<Jump> {
        let (new, old) = (self.figures(), old.figures());
        let of_same = |a: &Figure, b: &Figure| {
            a.section == b.section
                && a.scope == b.scope
                && a.amount.as_ref().map(|(of, _)| of) == b.amount.as_ref().map(|(of, _)| of)
        };
        let jump = |figure: &Figure| {
            let (of, amount) = figure.amount.as_ref()?;
            let same_id = old.iter().find(|o| o.section == figure.section && o.name == figure.name);
            let same_id = same_id.filter(|o| o.amount.as_ref().is_some_and(|(other, _)| other == of));
            let before = || {
                let earlier = old.iter().chain(&new).filter(|o| of_same(o, figure));
                earlier.filter(|o| o.span.from_ms < figure.span.from_ms).max_by_key(|o| o.span.from_ms)
            };
            let last = same_id.or_else(before)?;
            let (_, last_amount) = last.amount.as_ref()?;
            let far = *amount > last_amount * JUMP || amount * JUMP < *last_amount;
            far.then(|| Jump {
                what: format!("{} {:?} of {}", figure.section, figure.name, figure.scope),
                before: last.shown(),
                after: figure.shown(),
            })
        };
        new.iter().filter(|figure| !figure.confirmed).filter_map(jump).collect()
    }

    /// What this version says differently from the old one of any time before an instant: in an open period that is a
    /// price superseded, in a closed one a correction.
    pub fn changes(&self, old: &PriceBook, before_ms: i64) -> Vec<Change> {
        let (new, old) = (self.figures(), old.figures());
        let mut scopes: BTreeMap<(&'static str, &str), [Vec<&Figure>; 2]> = BTreeMap::new();
        for (version, figures) in [&old, &new].into_iter().enumerate() {
            for figure in figures {
                scopes.entry((figure.section, &figure.scope)).or_default()[version].push(figure);
            }
        }
        scopes
            .into_iter()
            .flat_map(|((section, scope), [old, new])| {
                differences(section, &format!("{section} of {scope}"), &old, &new, before_ms)
            })
            .collect()
    }

    /// Each price with the models of the fleet that it names.
    pub fn matched<'a>(&self, seen: impl IntoIterator<Item = &'a str>) -> Vec<Matched> {
        let seen: BTreeSet<&str> = seen.into_iter().collect();
        let matched = |entry: &super::PriceEntry| Matched {
            entry: entry.id.clone(),
            models: seen.iter().filter(|m| glob::fits(&entry.model, m)).map(|m| (*m).to_string()).collect(),
        };
        self.terms.entries.iter().map(matched).collect()
    }

    fn figures(&self) -> Vec<Figure> {
        let terms = &self.terms;
        let code = |c: &Option<crate::money::Currency>| c.as_ref().map_or("", |c| c.code()).to_string();
        let mut figures = Vec::new();
        let mut push = |section, scope, name: &str, span, value, amount: Option<(String, i128, bool)>| {
            let confirmed = amount.as_ref().is_some_and(|(_, _, confirmed)| *confirmed);
            let amount = amount.map(|(of, figure, _)| (of, figure));
            figures.push(Figure { section, scope, name: name.into(), span, value, amount, confirmed });
        };
        for e in &terms.entries {
            let amount = (
                format!("{:?} {}", e.per, code(&e.currency)),
                i128::from(e.first_price().0),
                e.jump_confirmed,
            );
            push("price", e.scope(), &e.id, e.span, e.describe(), Some(amount));
        }
        for d in &terms.discounts {
            push("discount", d.scope(), &d.id, d.span, format!("{} %", d.percent()), None);
        }
        for f in &terms.mig_factors {
            push("mig_factor", f.scope(), &f.name, f.span, f.describe(), None);
        }
        for u in &terms.service_units {
            let value = format!("{} {}", u.price, code(&u.currency)).trim_end().to_string();
            let amount = (code(&u.currency), i128::from(u.price.0), u.jump_confirmed);
            push("service_unit", u.scope(), &u.id, u.span, value, Some(amount));
        }
        for e in &terms.energies {
            push("energy", e.scope(), &e.id, e.span, e.describe(), None);
        }
        for r in &terms.exchange_rates {
            // Rates have no ids, so that their places are compared within a pair only.
            let amount = (r.scope(), i128::from(r.rate_e10), r.jump_confirmed);
            push("exchange_rate", r.scope(), &r.name, r.span, r.describe(), Some(amount));
        }
        for b in &terms.bases {
            push("basis", b.scope(), &b.name, b.span, b.basis.to_string(), None);
        }
        figures
    }
}

/// Where two versions differ about one scope before an instant; neighbours that differ alike are one.
fn differences(
    section: &'static str,
    what: &str,
    old: &[&Figure],
    new: &[&Figure],
    before_ms: i64,
) -> Vec<Change> {
    let edges = old.iter().chain(new).flat_map(|f| f.span.edges()).filter(|at| *at < before_ms);
    let edges: Vec<i64> = edges.collect::<BTreeSet<i64>>().into_iter().chain([before_ms]).collect();
    let mut changes: Vec<Change> = Vec::new();
    for span in edges.windows(2) {
        let at = |figures: &[&Figure]| figures.iter().position(|f| f.span.holds_at(span[0]));
        let (old, new) = (at(old).map(|at| old[at]), at(new).map(|at| new[at]));
        if old.map(|f| &f.value) == new.map(|f| &f.value) {
            continue;
        }
        let (before, after) = (old.map(Figure::shown), new.map(Figure::shown));
        let entries: BTreeSet<String> = [old, new].into_iter().flatten().map(Figure::called).collect();
        match changes.last_mut() {
            Some(last) if last.to_ms == span[0] && last.before == before && last.after == after => {
                last.to_ms = span[1];
            }
            _ => changes.push(Change {
                what: what.into(),
                section,
                entries: entries.into_iter().collect(),
                from_ms: span[0],
                to_ms: span[1],
                before,
                after,
            }),
        }
    }
    changes
}

/// `price "b" of model "H100": 36.00 per GPU-hour (b) after 3.50 per GPU-hour (a) is ...`, and what to do.
impl std::fmt::Display for Jump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} after {} is less than a tenth or more than ten times: correct it, or add jump_confirmed = true to the entry",
            self.what, self.after, self.before
        )
    }
}
