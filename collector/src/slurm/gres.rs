//! GRES and TRES texts: how many GPUs, and which by Slurm's own index.

/// Indices and counts above this are no node's.
const INDEX_MAX: u32 = 4096;

/// GPUs in a TRES text such as `cpu=8,gres/gpu=1,gres/gpu:a100=1`; `None` where it names none. A typed entry repeats
/// the untyped one, so the untyped counts where there is one, else the typed are added.
pub fn gpus_in_tres(text: &str) -> Option<u64> {
    let mut untyped = None;
    let mut typed: Option<u64> = None;
    for (name, count) in text.split(',').filter_map(|entry| entry.trim().rsplit_once('=')) {
        let Ok(count) = count.trim().parse::<u64>() else { continue };
        match name.strip_prefix("gres/gpu") {
            Some("") => untyped = Some(count),
            Some(kind) if kind.starts_with(':') => typed = Some(typed.unwrap_or(0) + count),
            _ => {}
        }
    }
    untyped.or(typed)
}

/// Where an item lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On these indices: `(IDX:0-1,3)`.
    Indices(Vec<u32>),
    /// Taken and present per index, as a node lists shards: `(2/4,0/4)`.
    PerIndex(Vec<(u32, u32)>),
    /// Not said: `(CNT:2)`, `(IDX:N/A)`, or nothing.
    Unknown,
}

/// One item of a GRES text: `gpu:h100:2(IDX:0-1)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// `gpu`, `shard`, `mps`.
    pub name: String,
    /// Type, where it is given: `h100`, `1g.10gb`.
    pub kind: Option<String>,
    /// How many.
    pub count: u64,
    /// Where.
    pub place: Place,
}

/// The items of a GRES text; entries that aren't understood are left out.
pub fn items(text: &str) -> Vec<Item> {
    split_outside_brackets(text).into_iter().filter_map(item).collect()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b',' if depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn item(text: &str) -> Option<Item> {
    let text = text.trim();
    let (head, place) = match text.split_once('(') {
        Some((head, rest)) => (head, rest.trim_end_matches(')')),
        None => (text, ""),
    };
    let head = head.strip_prefix("gres:").or(head.strip_prefix("gres/")).unwrap_or(head);
    let mut fields = head.split(':');
    let name = fields.next().filter(|name| !name.is_empty() && *name != "(null)")?.to_owned();
    let rest: Vec<&str> = fields.collect();
    let (kind, count) = match rest.as_slice() {
        [] => (None, 1),
        [only] => match only.parse() {
            Ok(count) => (None, count),
            Err(_) => (Some((*only).to_owned()), 1),
        },
        [kind, .., count] => (Some((*kind).to_owned()), count.parse().ok()?),
    };
    let place = match place.split_once("IDX:") {
        Some((_, list)) => indices(list).map_or(Place::Unknown, Place::Indices),
        None if place.contains('/') => per_index(place).map_or(Place::Unknown, Place::PerIndex),
        None => Place::Unknown,
    };
    Some(Item { name, kind, count, place })
}

/// `0-1,3` as numbers; `None` where it isn't a list of them.
fn indices(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > INDEX_MAX {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

fn per_index(list: &str) -> Option<Vec<(u32, u32)>> {
    let pair = |part: &str| {
        let (taken, present) = part.split_once('/')?;
        Some((taken.trim().parse().ok()?, present.trim().parse().ok()?))
    };
    list.split(',').map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_entry_repeats_the_untyped_one() {
        let cases = [
            ("cpu=10,mem=100G,node=1,billing=10,gres/gpu=1,gres/gpu:a100=1", Some(1)),
            ("gres/gpu:rtx=1", Some(1)),
            ("gres/gpu:a=1,gres/gpu:b=2", Some(3)),
            ("cpu=2,gres/gpu=0", Some(0)),
            ("cpu=1,node=1,billing=1", None),
            ("gres/gpumem=40G,gres/gpuutil=90,gres/shard=2", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(gpus_in_tres(text), want, "{text}");
        }
    }

    fn check(text: &str, want: &[(&str, Option<&str>, u64, Place)]) {
        let found: Vec<_> = items(text);
        let want: Vec<_> = want
            .iter()
            .map(|(name, kind, count, place)| Item {
                name: (*name).into(),
                kind: kind.map(Into::into),
                count: *count,
                place: place.clone(),
            })
            .collect();
        assert_eq!(found, want, "{text}");
    }

    #[test]
    fn details_name_devices_by_index() {
        let at = |list: &[u32]| Place::Indices(list.to_vec());
        check("gpu:h100:1(IDX:0)", &[("gpu", Some("h100"), 1, at(&[0]))]);
        check("gpu:4(IDX:0-1,3,7)", &[("gpu", None, 4, at(&[0, 1, 3, 7]))]);
        check(
            "gpu:a100:1(IDX:0),gpu:h100:2(IDX:4-5)",
            &[("gpu", Some("a100"), 1, at(&[0])), ("gpu", Some("h100"), 2, at(&[4, 5]))],
        );
        check("gpu:1g.10gb:1(IDX:3)", &[("gpu", Some("1g.10gb"), 1, at(&[3]))]);
        check("shard:2(IDX:1)", &[("shard", None, 2, at(&[1]))]);
        check(
            "shard:tesla:2(2/4,0/4)",
            &[("shard", Some("tesla"), 2, Place::PerIndex(vec![(2, 4), (0, 4)]))],
        );
    }

    #[test]
    fn what_names_no_device_is_unknown_and_not_index_zero() {
        check("gpu:a100:2(CNT:2)", &[("gpu", Some("a100"), 2, Place::Unknown)]);
        check("gpu:a100:0(IDX:N/A)", &[("gpu", Some("a100"), 0, Place::Unknown)]);
        check("gres:gpu:1", &[("gpu", None, 1, Place::Unknown)]);
        check("gpu:h100", &[("gpu", Some("h100"), 1, Place::Unknown)]);
        check("gpu:2(IDX:0-99999999)", &[("gpu", None, 2, Place::Unknown)]);
        check("(null)", &[]);
        check("", &[]);
    }
}
