//! Slurm's host lists: `node[01-03,5],login` in the order in which Slurm counts them.

/// Names that one list may stand for: more than any cluster has.
const NAMES_MAX: usize = 100_000;

/// Every name of a list, in order; `None` where it isn't a list or stands for too many.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split(list)? {
        expand_part(part, &mut names)?;
    }
    Some(names)
}

/// The position of a name in a list.
pub fn position(list: &str, name: &str) -> Option<usize> {
    expand(list)?.iter().position(|known| known == name)
}

/// Parts between the commas that aren't in brackets.
fn split(list: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut inside, mut start) = (false, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if inside => return None,
            b'[' => inside = true,
            b']' => inside = false,
            b',' if !inside => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    (!inside).then(|| parts.into_iter().filter(|part| !part.is_empty()).collect())
}

fn expand_part(part: &str, names: &mut Vec<String>) -> Option<()> {
    let mut heads = vec![String::new()];
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, after) = after.split_once(']')?;
        let mut numbers = Vec::new();
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            let count = usize::try_from(to.checked_sub(from)?).ok()?.checked_add(1)?;
            if numbers.len().checked_add(count)?.checked_mul(heads.len())? > NAMES_MAX {
                return None;
            }
            numbers.extend((from..=to).map(|n| format!("{n:0width$}", width = first.len())));
        }
        // The last number runs fastest.
        let mut grown = Vec::with_capacity(heads.len() * numbers.len());
        for head in &heads {
            grown.extend(numbers.iter().map(|number| format!("{head}{before}{number}")));
        }
        heads = grown;
        rest = after;
    }
    names.extend(heads.into_iter().map(|head| head + rest));
    (names.len() <= NAMES_MAX).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_expand_in_slurms_order_and_keep_leading_zeros() {
        let cases: [(&str, &[&str]); 6] = [
            ("node1", &["node1"]),
            ("node[1-3,5],login", &["node1", "node2", "node3", "node5", "login"]),
            ("gpu[08-11]", &["gpu08", "gpu09", "gpu10", "gpu11"]),
            ("r[1-2]n[1,3-4]", &["r1n1", "r1n3", "r1n4", "r2n1", "r2n3", "r2n4"]),
            ("gpu[1-2]-ib.example", &["gpu1-ib.example", "gpu2-ib.example"]),
            ("", &[]),
        ];
        for (list, want) in cases {
            assert_eq!(expand(list).expect(list), want, "{list}");
        }
        assert_eq!(position("gpu[08-11]", "gpu10"), Some(2));
    }

    #[test]
    fn what_is_no_list_or_is_endless_gives_nothing() {
        for list in ["node[1-", "node[3-1]", "n[a-b]", "n[0-999999999]", "n[1-1000]m[1-1000]", "n[[1]]"] {
            assert_eq!(expand(list), None, "{list}");
        }
    }
}
