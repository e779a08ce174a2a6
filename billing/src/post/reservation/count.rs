//! Reservations by count: which devices were the reserved ones is settled by sums over a local day.
//!
//! Of a scope (a model, in a pool or anywhere) in a piece of a day that no change cuts: the owner's own use counts first, up to
//! what is reserved. The rest is unused up to what was free or stranded, then lent up to what others held beyond the
//! capacity that isn't reserved; what still remains was unavailable or unobserved, or isn't there, and isn't charged.
//! Several reservations of one scope share what is free and what is lent in proportion to what each still lacks. Devices
//! reserved by name are in no scope; of scopes that overlap the narrower comes first.

use super::books::Books;
use super::holds;
use crate::policy::{CostKind, Reservation, Reserved, Scope};
use crate::post::Ledger;
use crate::split::split_time;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const NONE: NanoGpuHours = NanoGpuHours(0);

/// A reservation, and what of it isn't settled yet.
struct Open<'a> {
    reservation: &'a Reservation,
    rest: NanoGpuHours,
}

pub(super) fn settle<'a>(ledger: &Ledger<'a>, books: &mut Books<'a>) {
    let mut start = 0;
    while start < books.devices.len() {
        // Devices that came or went within the day have shorter segments: those that overlap are settled together.
        let mut piece = books.devices[start].total.segment;
        let mut end = start;
        while let Some(next) = books.devices.get(end).map(|d| d.total.segment)
            && (end == start || next.start_ms < piece.end_ms)
        {
            piece.end_ms = piece.end_ms.max(next.end_ms);
            end += 1;
        }
        for (scope, group) in groups(ledger, piece) {
            let here: Vec<usize> = (start..end)
                .filter(|at| {
                    let device = &books.devices[*at];
                    !device.by_name && scope.holds(device.site(), &device.total.model, ledger.tenants)
                })
                .collect();
            settle_group(ledger, books, piece, &here, group);
        }
        start = end;
    }
}

/// The reservations by count that hold in a piece of a day, by scope, the narrowest first.
fn groups<'a>(ledger: &Ledger<'a>, piece: Window) -> Vec<(&'a Scope, Vec<Open<'a>>)> {
    let whole = NanoGpuHours::of_span(piece.start_ms, piece.end_ms);
    let mut groups: BTreeMap<&Scope, Vec<Open<'a>>> = BTreeMap::new();
    for reservation in ledger.policies.reservations.iter().filter(|r| holds(r, ledger, piece.start_ms)) {
        if let Reserved::Count { count, scope } = &reservation.reserved {
            let rest = NanoGpuHours(whole.0 * count);
            groups.entry(scope).or_default().push(Open { reservation, rest });
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(scope, _)| Reverse(scope.exactness()));
    for (_, group) in &mut groups {
        // What a tenant below an owner holds counts for its own reservation before the owner's.
        let depth =
            |open: &Open<'_>| ledger.tenants.ancestors(&open.reservation.tenant, piece.start_ms).len();
        group.sort_by(|a, b| (depth(b), &a.reservation.id).cmp(&(depth(a), &b.reservation.id)));
    }
    groups
}

fn settle_group<'a>(
    ledger: &Ledger<'a>,
    books: &mut Books<'a>,
    piece: Window,
    here: &[usize],
    mut group: Vec<Open<'a>>,
) {
    let rows: Vec<usize> = here.iter().flat_map(|at| books.rows_of(*at)).collect();
    let reserved: NanoGpuHours = group.iter().map(|open| open.rest).sum();
    let is_own = |books: &Books<'_>, of: &Reservation, row: usize| {
        ledger.tenants.is_within(&books.rows[row].row.tenant, &of.tenant, piece.start_ms)
    };
    for open in &mut group {
        let own: Vec<usize> =
            rows.iter().copied().filter(|row| is_own(books, open.reservation, *row)).collect();
        take(books, open, open.rest, &own, Books::take_own);
    }
    let free = |books: &Books<'_>| -> NanoGpuHours {
        here.iter().map(|at| books.devices[*at].free + books.devices[*at].stranded).sum()
    };
    let unused = shares(&group, free(books));
    for (open, time) in group.iter_mut().zip(unused) {
        take_unused(books, open, time, here);
    }
    let unclaimed =
        |books: &Books<'_>, at: usize| books.devices[at].total.capacity - books.devices[at].claimed;
    let capacity: NanoGpuHours = here.iter().map(|at| unclaimed(books, *at)).sum();
    let others: NanoGpuHours = rows.iter().map(|row| books.rows[*row].left).sum();
    let beyond = (others - (capacity - reserved).max(NONE)).max(NONE);
    let lent = shares(&group, beyond);
    for (open, time) in group.iter_mut().zip(lent) {
        let of_others: Vec<usize> =
            rows.iter().copied().filter(|row| !is_own(books, open.reservation, *row)).collect();
        take(books, open, time, &of_others, Books::take_lent);
    }
    let weights: Vec<NanoGpuHours> = here.iter().map(|at| unclaimed(books, *at)).collect();
    for (at, part) in here.iter().zip(split_time(reserved.min(capacity), &weights)) {
        books.devices[*at].claimed = books.devices[*at].claimed + part;
    }
}

/// What of `there` each reservation gets: all that it lacks, or its part in proportion.
fn shares(group: &[Open<'_>], there: NanoGpuHours) -> Vec<NanoGpuHours> {
    let rests: Vec<NanoGpuHours> = group.iter().map(|open| open.rest).collect();
    split_time(rests.iter().copied().sum::<NanoGpuHours>().min(there), &rests)
}

/// Takes up to `time` of rows, in proportion to what is left of each.
fn take<'a>(
    books: &mut Books<'a>,
    open: &mut Open<'a>,
    time: NanoGpuHours,
    rows: &[usize],
    how: impl Fn(&mut Books<'a>, &'a Reservation, usize, NanoGpuHours),
) {
    let left: Vec<NanoGpuHours> = rows.iter().map(|row| books.rows[*row].left).collect();
    let time = left.iter().copied().sum::<NanoGpuHours>().min(time);
    for (row, part) in rows.iter().zip(split_time(time, &left)).filter(|(_, part)| part.0 > 0) {
        how(books, open.reservation, *row, part);
    }
    open.rest = open.rest - time;
}

/// Takes time that nobody held: free first, then stranded.
fn take_unused<'a>(books: &mut Books<'a>, open: &mut Open<'a>, time: NanoGpuHours, here: &[usize]) {
    let mut rest = time;
    for kind in [CostKind::Free, CostKind::Stranded] {
        let there: Vec<NanoGpuHours> = here
            .iter()
            .map(|at| match kind {
                CostKind::Stranded => books.devices[*at].stranded,
                _ => books.devices[*at].free,
            })
            .collect();
        let of_kind = there.iter().copied().sum::<NanoGpuHours>().min(rest);
        for (at, part) in here.iter().zip(split_time(of_kind, &there)) {
            books.take_unused(open.reservation, *at, kind, part);
        }
        rest = rest - of_kind;
    }
    open.rest = open.rest - (time - rest);
}
