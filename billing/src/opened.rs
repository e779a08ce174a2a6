//! A statement's lines opened into what they are made of: quantities are apportioned so that the parts of a line sum to it
//! exactly, whatever the period as a whole decided (tiers, a basis that was refused).

use crate::charge::Unit;
use crate::money::UnitPrice;
use crate::price::Basis;
use crate::rating::{Line, LineBasis, LineKey, LinePrice, Sums};
use crate::split::{split, weight};
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// Something that was summed into a line.
pub trait Piece {
    /// The line's key, as rating made it.
    fn key(&self) -> &LineKey;
    /// What was summed.
    fn sums(&self) -> &Sums;
}

/// A line's part of a piece.
#[derive(Debug)]
pub struct Part<'a, P> {
    /// The line.
    pub line: &'a Line,
    /// The piece.
    pub piece: &'a P,
    /// Its part of the line's quantity, in 1e-9 of the line's unit.
    pub nano: i64,
    /// Its part of the device time held.
    pub held: NanoGpuHours,
}

/// The pieces aren't the lines'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Number of the first line that they aren't of; 0 where there is no such line.
    pub line: u32,
    /// What its lines hold.
    pub held: NanoGpuHours,
    /// What the pieces hold.
    pub pieces: NanoGpuHours,
}

/// The parts of lines, by line and in the order of time.
///
/// # Errors
/// The pieces don't add up to the lines.
pub fn open<'a, P: Piece>(lines: &'a [Line], pieces: &'a [P]) -> Result<Vec<Part<'a, P>>, Mismatch> {
    let mut parts: Vec<Part<'a, P>> = groups(lines, pieces)?.iter().flat_map(Group::parts).collect();
    parts.sort_by_key(|part| (part.line.number, part.piece.sums().span.start_ms));
    Ok(parts)
}

/// Lines, and the pieces that they are made of.
struct Group<'a, P> {
    lines: Vec<&'a Line>,
    pieces: Vec<&'a P>,
}

/// Each line with its pieces. Where the period as a whole decided on tiers or on the basis, the lines that one key became
/// stand together.
fn groups<'a, P: Piece>(lines: &'a [Line], pieces: &'a [P]) -> Result<Vec<Group<'a, P>>, Mismatch> {
    let mut exact: BTreeMap<&LineKey, Vec<&P>> = BTreeMap::new();
    for piece in pieces {
        exact.entry(piece.key()).or_default().push(piece);
    }
    let mut groups = Vec::new();
    let mut together: BTreeMap<LineKey, Group<'a, P>> = BTreeMap::new();
    let empty = || Group { lines: Vec::new(), pieces: Vec::new() };
    for line in lines {
        let own = exact.get(&line.key).is_some_and(|own| {
            let natural: i64 = own.iter().map(|p| p.sums().natural_ms).sum();
            held_of(own) == line.sums.held && natural == line.sums.natural_ms
        });
        match own.then(|| exact.remove(&line.key)).flatten() {
            Some(pieces) => groups.push(Group { lines: vec![line], pieces }),
            None => together.entry(undecided(&line.key)).or_insert_with(empty).lines.push(line),
        }
    }
    for (key, pieces) in exact {
        together.entry(undecided(key)).or_insert_with(empty).pieces.extend(pieces);
    }
    groups.extend(together.into_values());
    for group in &groups {
        let held = group.lines.iter().map(|line| line.sums.held).sum::<NanoGpuHours>();
        let pieces = held_of(&group.pieces);
        if pieces != held || group.pieces.is_empty() || group.lines.is_empty() {
            let line = group.lines.first().map_or(0, |line| line.number);
            return Err(Mismatch { line, held, pieces });
        }
    }
    Ok(groups)
}

fn held_of<P: Piece>(pieces: &[&P]) -> NanoGpuHours {
    pieces.iter().map(|piece| piece.sums().held).sum()
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

impl<'a, P: Piece> Group<'a, P> {
    /// The group's quantity over its pieces, then from the first line to the last in the order of time.
    fn parts(&self) -> Vec<Part<'a, P>> {
        let mut pieces = self.pieces.clone();
        pieces.sort_by_key(|piece| piece.sums().span.start_ms);
        let total: i64 = self.lines.iter().map(|line| line.quantity.nano).sum();
        let nanos = split(total, &self.weights(&pieces));
        let mut lines = self.lines.iter().copied().peekable();
        let mut room = lines.peek().map_or(0, |line| line.quantity.nano);
        let mut parts = Vec::new();
        for (piece, nano) in pieces.into_iter().zip(nanos) {
            let whole = piece.sums().held;
            let (mut left, mut held_left) = (nano, whole);
            while let Some(line) = lines.peek().copied() {
                let last = left <= room || self.lines.last().is_some_and(|l| l.number == line.number);
                let taken = if last { left } else { room };
                let held = if last { held_left } else { part_of(whole, taken, nano) };
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
    fn weights(&self, pieces: &[&P]) -> Vec<u128> {
        let unit = self.lines.first().map_or(Unit::GpuHour, |line| line.quantity.unit);
        let held = self.lines.iter().all(|line| line.key.basis.charged == Basis::Held);
        let of = |piece: &&P| {
            let sums = piece.sums();
            match unit {
                Unit::InstanceHour => u128::from(sums.natural_ms.unsigned_abs()),
                Unit::GibHour => sums.memory_byte_ms,
                _ if held => weight(sums.held),
                _ => weight(sums.charged),
            }
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
