//! Usage lines of a statement, opened to a row for each device and day: quantities are apportioned so that the rows of a
//! line sum to it exactly, and costs are multiplied after.

use super::row::{Account, Category, Device, Head, Of, Row, Sku};
use super::{FocusError, charges};
use crate::bill::DevicePiece;
use crate::charge::{Quantity, Unit};
use crate::money::{Exact, UnitPrice};
use crate::price::Basis;
use crate::rating::{Line, LineBasis, LineKey, LinePrice, PlatformLine};
use crate::split::{split, weight};
use crate::words;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// What stands for a price where there is none.
const UNPRICED: &str = "unpriced";

/// The rows of lines, in the order of the lines and of time.
pub(super) fn rows<'a>(
    head: &'a Head<'a>,
    account: &Account,
    lines: &[Line],
    pieces: &[DevicePiece],
) -> Result<Vec<Row<'a>>, FocusError> {
    let mut rows: Vec<(u32, Row<'a>)> = Vec::new();
    for group in groups(head, lines, pieces)? {
        for part in group.parts() {
            rows.push((part.line.number, row(head, account, &part)));
        }
    }
    for line in lines {
        let (exact, posted) = (line.exact.unwrap_or(Exact::ZERO), line.amount.unwrap_or_default());
        let number = format!("{}-L{}", head.number, line.number);
        let moved = charges::rounding(head, account, number, exact, posted);
        rows.extend(moved.map(|moved| (line.number, moved)));
    }
    // What rounding moved comes last of a line.
    rows.sort_by_key(|(number, row)| (*number, row.device.is_none(), row.when.start_ms));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Lines, and the pieces that they are made of.
struct Group<'a> {
    lines: Vec<&'a Line>,
    pieces: Vec<&'a DevicePiece>,
}

/// A line's part of a piece.
struct Part<'a> {
    line: &'a Line,
    piece: &'a DevicePiece,
    nano: i64,
    held: NanoGpuHours,
}

/// Each line with its pieces. Where the period as a whole decided on tiers or on the basis, the lines that one key became
/// stand together.
fn groups<'a>(
    head: &Head<'_>,
    lines: &'a [Line],
    pieces: &'a [DevicePiece],
) -> Result<Vec<Group<'a>>, FocusError> {
    let mut exact: BTreeMap<&LineKey, Vec<&DevicePiece>> = BTreeMap::new();
    for piece in pieces {
        exact.entry(&piece.key).or_default().push(piece);
    }
    let mut groups = Vec::new();
    let mut together: BTreeMap<LineKey, Group<'a>> = BTreeMap::new();
    let empty = || Group { lines: Vec::new(), pieces: Vec::new() };
    for line in lines {
        let own = exact.get(&line.key).filter(|own| {
            let natural: i64 = own.iter().map(|p| p.sums.natural_ms).sum();
            held_of(own) == line.sums.held && natural == line.sums.natural_ms
        });
        match own.is_some().then(|| exact.remove(&line.key)).flatten() {
            Some(pieces) => groups.push(Group { lines: vec![line], pieces }),
            None => together.entry(undecided(&line.key)).or_insert_with(empty).lines.push(line),
        }
    }
    for (key, pieces) in exact {
        together.entry(undecided(key)).or_insert_with(empty).pieces.extend(pieces);
    }
    groups.extend(together.into_values());
    for group in &groups {
        let of_lines = group.lines.iter().map(|line| line.sums.held).sum::<NanoGpuHours>();
        if held_of(&group.pieces) != of_lines || group.pieces.is_empty() || group.lines.is_empty() {
            let number = group.lines.first().map_or(0, |line| line.number);
            return Err(FocusError::Pieces {
                line: format!("{}-L{number}", head.number),
                held: of_lines,
                pieces: held_of(&group.pieces),
            });
        }
    }
    Ok(groups)
}

fn held_of(pieces: &[&DevicePiece]) -> NanoGpuHours {
    pieces.iter().map(|piece| piece.sums.held).sum()
}

/// A key before the period decided on its tier and basis.
fn undecided(key: &LineKey) -> LineKey {
    let mut key = key.clone();
    key.basis = LineBasis { charged: Basis::Held, ..key.basis };
    if let LinePrice::Priced(rate) = &mut key.price {
        rate.price = UnitPrice(0);
        rate.tier = 0;
    }
    key
}

impl<'a> Group<'a> {
    /// The group's quantity over its pieces, then from the first line to the last in the order of time.
    fn parts(&self) -> Vec<Part<'a>> {
        let mut pieces = self.pieces.clone();
        pieces.sort_by_key(|piece| piece.segment.start_ms);
        let total: i64 = self.lines.iter().map(|line| line.quantity.nano).sum();
        let nanos = split(total, &self.weights(&pieces));
        let mut lines = self.lines.iter().copied().peekable();
        let mut room = lines.peek().map_or(0, |line| line.quantity.nano);
        let mut parts = Vec::new();
        for (piece, nano) in pieces.into_iter().zip(nanos) {
            let (mut left, mut held_left) = (nano, piece.sums.held);
            while let Some(line) = lines.peek().copied() {
                let last = left <= room || self.lines.last().is_some_and(|l| l.number == line.number);
                let taken = if last { left } else { room };
                let held = if last { held_left } else { part_of(piece.sums.held, taken, nano) };
                (left, held_left, room) = (left - taken, held_left - held, room - taken);
                if last || taken != 0 {
                    parts.push(Part { line, piece, nano: taken, held });
                }
                if last {
                    break;
                }
                lines.next();
                room = lines.peek().map_or(0, |line| line.quantity.nano);
            }
        }
        parts
    }

    /// What the price is multiplied with, of each piece.
    fn weights(&self, pieces: &[&DevicePiece]) -> Vec<u128> {
        let unit = self.lines.first().map_or(Unit::GpuHour, |line| line.quantity.unit);
        let held = self.lines.iter().all(|line| line.key.basis.charged == Basis::Held);
        let of = |piece: &&DevicePiece| match unit {
            Unit::InstanceHour => u128::from(piece.sums.natural_ms.unsigned_abs()),
            Unit::GibHour => piece.sums.memory_byte_ms,
            _ if held => weight(piece.sums.held),
            _ => weight(piece.sums.charged),
        };
        let weights: Vec<u128> = pieces.iter().map(of).collect();
        // Nothing to weigh by: all of it is the first piece's.
        if weights.iter().all(|w| *w == 0) {
            return (0..weights.len()).map(|at| u128::from(at == 0)).collect();
        }
        weights
    }
}

fn part_of(held: NanoGpuHours, nano: i64, of: i64) -> NanoGpuHours {
    let part = i128::from(held.0) * i128::from(nano) / i128::from(of.max(1));
    NanoGpuHours(i64::try_from(part).expect("a part is at most the whole"))
}

fn row<'a>(head: &'a Head<'a>, account: &Account, part: &Part<'_>) -> Row<'a> {
    let (line, piece) = (part.line, part.piece);
    let key = &line.key;
    let quantity = Quantity { nano: part.nano, unit: line.quantity.unit };
    let profile = Some(key.profile.clone()).filter(|profile| !profile.is_empty());
    let sku = sku(&key.model, profile.as_deref(), &key.price, quantity);
    Row {
        head,
        account: account.clone(),
        tenant: account.id.clone(),
        category: Category::Usage,
        kind: "usage",
        what: words::line_what(key),
        when: piece.segment,
        billed: Exact::times(quantity, sku.contracted),
        line: format!("{}-L{}", head.number, line.number),
        sku: Some(sku),
        consumed: Some(Quantity::gpu_hours(part.held)),
        device: Some(Device {
            cluster: piece.cluster.clone(),
            node: piece.node.clone(),
            uuid: piece.device.clone(),
        }),
        of: Some(Of { model: key.model.clone(), profile, sharing: Some(words::sharing(key.sharing)) }),
        split: None,
        corrects: None,
        price_state: state(&key.price),
    }
}

/// What nobody held: a row for one of the platform's lines, and what rounding it moved.
pub(super) fn platform_rows<'a>(head: &'a Head<'a>, account: &Account, line: &PlatformLine) -> Vec<Row<'a>> {
    let number = format!("{}-P{}", head.number, line.number);
    let (exact, posted) = (line.exact.unwrap_or(Exact::ZERO), line.amount.unwrap_or_default());
    let moved = charges::rounding(head, account, number, exact, posted);
    [platform_row(head, account, line)].into_iter().chain(moved).collect()
}

fn platform_row<'a>(head: &'a Head<'a>, account: &Account, line: &PlatformLine) -> Row<'a> {
    let quantity = Quantity::gpu_hours(line.quantity);
    let sku = sku(&line.model, None, &line.price, quantity);
    Row {
        head,
        account: account.clone(),
        tenant: account.id.clone(),
        category: Category::Usage,
        kind: line.kind.word(),
        what: format!("{} {}", words::short_model(&line.model), line.kind.word()),
        when: head.context.period.window(),
        billed: Exact::times(quantity, sku.contracted),
        line: format!("{}-P{}", head.number, line.number),
        sku: Some(sku),
        consumed: Some(quantity),
        device: None,
        of: Some(Of { model: line.model.clone(), profile: None, sharing: None }),
        split: None,
        corrects: None,
        price_state: state(&line.price),
    }
}

fn state(price: &LinePrice) -> &'static str {
    match price {
        LinePrice::Priced(_) => "priced",
        LinePrice::Unpriced(_) => UNPRICED,
    }
}

/// Device time of a model or profile. A price of none is told by its name and by `x_PriceState`: FOCUS knows no charge of
/// unknown cost.
fn sku(model: &str, profile: Option<&str>, price: &LinePrice, quantity: Quantity) -> Sku {
    let mig = profile.map(|profile| format!(".mig-{profile}")).unwrap_or_default();
    let id = format!("gpu.{}{mig}", words::short_model(model).to_lowercase().replace(' ', "-"));
    let mut details = serde_json::json!({ "x_GpuModel": model });
    if let Some(profile) = profile {
        details["x_MigProfile"] = profile.into();
    }
    let (entry, tier) = price.rate().map_or((UNPRICED, 0), |rate| (rate.entry.as_str(), rate.tier));
    let of_tier = if tier == 0 { String::new() } else { format!("#{}", tier + 1) };
    Sku {
        price_id: format!("{entry}:{id}{of_tier}"),
        id,
        details: details.to_string(),
        list: price.rate().map_or(UnitPrice(0), |rate| rate.list),
        contracted: price.rate().map_or(UnitPrice(0), |rate| rate.price),
        quantity,
    }
}
