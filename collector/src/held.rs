//! Held time by the schedulers' word: between attribution, which knows only processes, and batches.
//!
//! A closed slice waits here until every scheduler's word reaches to its end (or for so long that it is sent without),
//! because rows can't be changed once they are sent. Then each owner gets its full record, the slice is cut where a hold
//! begins or ends inside it, and each piece is told who held what:
//! - a place that a scheduler gave to somebody is held by that somebody, process or none, by the share that was given;
//! - whoever else is busy there is shown, with an allocated time of zero: it holds nothing;
//! - a place that no scheduler gave to anybody is held by its processes, as before, but not by those of a pod that has
//!   ended;
//! - what nobody holds of a node that its scheduler has taken out of use is unavailable, and says why;
//! - a gap in which a device was given to somebody is held, its use unknown. It takes no scheduler's answer for granted:
//!   after the instant up to which it is known, nothing is said.
//!
//! The law: what is held sums to no more than the device; of what was measured, every unit is in exactly one piece.

mod claims;
mod cut;
mod ended;
mod gap;
mod idle_node;
mod moved;
mod rows;

use crate::allocation::{Allocations, Board};
use crate::slice::Closed;
use claims::Claim;
use schema::window::Window;
use std::collections::VecDeque;
use std::sync::Arc;

/// Slices that wait at most: some hours of a node with many devices. Beyond it the oldest go on as they are.
const WAITING_MAX: usize = 20_000;

/// Closed slices on their way into batches.
pub struct Held {
    boards: Vec<Board>,
    wait_ms: i64,
    waiting: VecDeque<Closed>,
    moved: u64,
}

impl Held {
    /// With the boards of every scheduler on the node (none: slices pass through), and how long a slice waits for
    /// their word after its end, milliseconds.
    pub fn new(boards: Vec<Board>, wait_ms: i64) -> Self {
        Self { boards, wait_ms, waiting: VecDeque::new(), moved: 0 }
    }

    /// Takes closed slices and gives those whose time has come, in order.
    pub fn pass(&mut self, closed: Vec<Closed>, now_ms: i64) -> Vec<Closed> {
        if self.boards.is_empty() {
            return closed;
        }
        self.waiting.extend(closed);
        let said = self.said();
        let known_until_ms = said.iter().map(|said| said.known_until_ms).min().unwrap_or(i64::MAX);
        let mut ready = Vec::new();
        while let Some(first) = self.waiting.front() {
            let end_ms = first.window.end_ms;
            let over = self.waiting.len() > WAITING_MAX;
            if end_ms > known_until_ms && now_ms - end_ms < self.wait_ms && !over {
                break;
            }
            ready.extend(self.waiting.pop_front());
        }
        self.apply_all(ready, &said)
    }

    /// Everything that waits, with what is known now: at the end of a run.
    pub fn finish(&mut self, closed: Vec<Closed>) -> Vec<Closed> {
        self.waiting.extend(closed);
        let said = self.said();
        let all = self.waiting.drain(..).collect();
        self.apply_all(all, &said)
    }

    /// Slots so far that a scheduler gave on one MPS device and whose holder was on another, once a window.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    fn apply_all(&mut self, slices: Vec<Closed>, said: &[Arc<Allocations>]) -> Vec<Closed> {
        let (said, moved) = moved::to_processes(&slices, said);
        self.moved += moved;
        slices.into_iter().flat_map(|slice| apply(slice, &said)).collect()
    }

    fn said(&self) -> Vec<Arc<Allocations>> {
        self.boards.iter().map(Board::current).collect()
    }
}

/// One slice by the word of these schedulers: the same time, in one piece or several.
pub fn apply(mut slice: Closed, said: &[Arc<Allocations>]) -> Vec<Closed> {
    let claims = claims::on(&slice, said);
    claims::name_owners(&mut slice, said, &claims);
    let window = Window::new(slice.window.start_ms, slice.window.end_ms);
    let out_of_use = idle_node::since(said);
    let edges = claims.iter().flat_map(|claim| [claim.held.start_ms, claim.held.end_ms]);
    let edges: Vec<i64> = edges.chain(out_of_use.map(|(since_ms, _)| since_ms)).collect();
    let pieces = window.cut_at(&edges);
    let mut out = Vec::with_capacity(pieces.len());
    for mut piece in cut::at(slice, &pieces) {
        let span = Window::new(piece.window.start_ms, piece.window.end_ms);
        let active: Vec<&Claim> =
            claims.iter().filter(|claim| claim.held.intersect(&span).is_some()).collect();
        if active.is_empty() {
            if let Some((_, reason)) = out_of_use.filter(|(since_ms, _)| *since_ms <= span.start_ms) {
                idle_node::take_out(&mut piece, reason);
            }
        } else {
            match (piece.window.observed_ms, piece.window.unavailable_ms) {
                (0, 0) => gap::cover(&mut piece, &active),
                (0, _) => {}
                _ => rows::hold(&mut piece, &active),
            }
        }
        ended::let_go(&mut piece, said);
        out.push(piece);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests;
