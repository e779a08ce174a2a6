//! Lines of a file as people read them: `2-5, 9`.

/// Ascending lines in runs, the first `most` of them; the rest is counted.
pub fn ranges(lines: impl IntoIterator<Item = u64>, most: usize) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == line || *last == line => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let show = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let mut text = ranges.iter().take(most).map(show).collect::<Vec<_>>().join(", ");
    if ranges.len() > most {
        let rest: u64 = ranges[most..].iter().map(|(first, last)| last - first + 1).sum();
        text.push_str(&format!(" and {rest} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_and_what_is_not_shown_is_counted() {
        assert_eq!(ranges([2, 3, 4, 9, 9, 11, 12], 9), "2-4, 9, 11-12");
        assert_eq!(ranges([2, 3, 4, 9, 11, 12], 2), "2-4, 9 and 2 more");
        assert_eq!(ranges([], 2), "");
    }
}
