//! Parts of a GPU by a fractional scheduler, and a GPU by a claim that pods share.

use crate::accuracy::case::{Case, Given, HOUR_S, PARTS, wave};
use nvidia_ml::scenario::Gpu;

/// HAMi: a quarter, a half, and another quarter that comes later. Each pod requests one `nvidia.com/gpu`.
pub fn hami() -> Case {
    let mut case = Case::new("hami_quarter", "HAMi, quarters of a GPU", vec![Gpu::new("a100-80gb")]);
    let uuid = case.uuid(0);
    let given = |cores| Given::Hami(uuid.clone(), 16_384, cores);
    let hour = (0, HOUR_S);
    let late = (1_213, HOUR_S);
    case.pod("quarter", (0, None), 1, vec![case.part(0, given(25), hour, PARTS / 4)]);
    case.pod("half", (0, None), 1, vec![case.part(0, given(50), hour, PARTS / 2)]);
    case.pod("later", (late.0, None), 1, vec![case.part(0, given(25), late, PARTS / 4)]);
    case.work("quarter", 0, None, (0, None), 22.0);
    case.work("half", 0, None, (0, None), wave(75, 30, 48.0));
    case.work("later", 0, None, (1_219, None), wave(41, 13, 25.0));
    case
}

/// DRA: two pods reserve one claim, the second from the middle of the hour: then each holds half.
pub fn dra() -> Case {
    let mut case = Case::new("dra_shared_claim", "DRA, a shared claim", vec![Gpu::new("l40s")]);
    case.claims = vec![("shared", "gpu-0", 0)];
    let half_past = 1_811;
    let given = Given::Claim("shared", "gpu-0");
    let mut early = case.part(0, given.clone(), (0, half_past), PARTS);
    early.spans.extend(case.part(0, given.clone(), (half_past, HOUR_S), PARTS / 2).spans);
    let late = case.part(0, given, (half_past, HOUR_S), PARTS / 2);
    case.pod("early", (0, None), 0, vec![early]);
    case.pod("late", (half_past, None), 0, vec![late]);
    case.work("early", 0, None, (0, None), 41.0);
    case.work("late", 0, None, (half_past + 7, None), wave(200, 120, 50.0));
    case
}
