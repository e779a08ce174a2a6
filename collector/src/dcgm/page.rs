//! The exporter's page: of its samples, the activity of GPU instances.

use super::ByInstance;
use crate::reading::Activity;
use schema::wire::BusyKind;

/// SM activity is what GPM measures on newer devices; the exporter's own list of fields has the engine's alone.
const FIELDS: [(&str, BusyKind); 2] = [
    ("DCGM_FI_PROF_SM_ACTIVE", BusyKind::SmActive),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", BusyKind::EngineActive),
];

/// Activity by instance. One kind for the whole page: kinds are never mixed, and SM activity is taken where it is there.
pub fn parse(page: &str) -> ByInstance {
    let of_kind = |(name, kind): (&str, BusyKind)| -> ByInstance {
        page.lines().filter_map(|line| sample(line.strip_prefix(name)?, kind)).collect()
    };
    FIELDS.into_iter().map(of_kind).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The rest of a line behind the metric's name: `{gpu="0",UUID="GPU-...",GPU_I_ID="2",...} 0.25`.
fn sample(rest: &str, kind: BusyKind) -> Option<((String, u32), Activity)> {
    let (labels, value) = rest.strip_prefix('{')?.rsplit_once('}')?;
    let ratio: f64 = value.split_whitespace().next()?.parse().ok()?;
    // DCGM's blanks are huge numbers; slightly more than all has been seen, and is all.
    if !(0.0..2.0).contains(&ratio) {
        return None;
    }
    let instance = label(labels, "GPU_I_ID")?.parse().ok()?;
    let uuid = label(labels, "UUID")?.to_ascii_lowercase();
    Some(((uuid, instance), Activity { kind, ratio: ratio.min(1.0) }))
}

/// The value of a label; none that is looked for holds an escape.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let at = labels.match_indices(name).find(|(at, _)| {
        let before = labels[..*at].chars().next_back();
        before.is_none_or(|c| c == ',' || c == ' ') && labels[at + name.len()..].starts_with("=\"")
    });
    let value = &labels[at?.0 + name.len() + 2..];
    value.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_read_of_one_kind_and_whole_devices_are_not_instances() {
        let page = "# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE x\n\
            DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-A\",pci_bus_id=\"x\",GPU_I_PROFILE=\"3g.20gb\",GPU_I_ID=\"2\"} 0.25\n\
            DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-A\",GPU_I_ID=\"9\"} 1.01 1700000000\n\
            DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-A\",GPU_I_ID=\"5\"} 9223372036854775794\n\
            DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"1\",UUID=\"GPU-B\"} 0.5\n";
        let engine = |ratio| Activity { kind: BusyKind::EngineActive, ratio };
        let found: Vec<_> = parse(page).into_iter().collect();
        assert_eq!(found, [(("gpu-a".into(), 2), engine(0.25)), (("gpu-a".into(), 9), engine(1.0))]);
        let sm = format!("{page}DCGM_FI_PROF_SM_ACTIVE{{UUID=\"GPU-A\",GPU_I_ID=\"2\"}} 0.125\n");
        let found: Vec<_> = parse(&sm).into_iter().collect();
        assert_eq!(found, [(("gpu-a".into(), 2), Activity { kind: BusyKind::SmActive, ratio: 0.125 })]);
        assert!(parse("<html>").is_empty());
    }
}
