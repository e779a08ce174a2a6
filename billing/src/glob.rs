//! `*` patterns over plain text: any run of characters, the empty one included. Nothing else is special.

/// Whether `text` fits `pattern`.
///
/// ```
/// assert!(billing::glob::fits("NVIDIA H100*", "NVIDIA H100 80GB HBM3"));
/// assert!(!billing::glob::fits("NVIDIA H100*", "NVIDIA H200"));
/// ```
pub fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().expect("a split has at least one part");
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

/// Whether a text could fit both patterns; where that isn't plain, it could.
///
/// ```
/// assert!(billing::glob::may_meet("NVIDIA H100*", "NVIDIA H100 NVL"));
/// assert!(!billing::glob::may_meet("NVIDIA H100*", "NVIDIA H200*"));
/// ```
pub fn may_meet(a: &str, b: &str) -> bool {
    let (Some((head_a, _)), Some((head_b, _))) = (a.split_once('*'), b.split_once('*')) else {
        return fits(a, b) || fits(b, a);
    };
    let tail = |pattern: &str| pattern.rsplit_once('*').map_or(0, |(before, _)| before.len() + 1);
    let (tail_a, tail_b) = (&a[tail(a)..], &b[tail(b)..]);
    (head_a.starts_with(head_b) || head_b.starts_with(head_a))
        && (tail_a.ends_with(tail_b) || tail_b.ends_with(tail_a))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_any_run_of_characters() {
        for (pattern, text, want) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abcd", false),
            ("*user-*.slice*", "/user.slice/user-1000.slice/x", true),
            ("a*a", "a", false),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("ü*", "über", true),
            ("NVIDIA H100", "NVIDIA H100 NVL", false),
        ] {
            assert_eq!(fits(pattern, text), want, "{pattern} on {text}");
        }
    }
}
