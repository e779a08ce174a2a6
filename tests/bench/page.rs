//! One value off a page of metrics.

use anyhow::{Context, Result};

/// Value of the first sample of `family` that has any labels, or none.
///
/// # Errors
/// The page has no such sample.
pub fn value(page: &str, family: &str) -> Result<f64> {
    let mut samples = page.lines().filter_map(|line| line.strip_prefix(family));
    let sample = samples
        .find(|rest| rest.starts_with(['{', ' ']))
        .with_context(|| format!("the page has no {family}"))?;
    let text = sample.rsplit(' ').next().context("a sample without a value")?;
    text.parse().with_context(|| format!("{family} is {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_family_is_not_taken_for_a_longer_one() {
        let page = "# TYPE a counter\na_total{node=\"n 1\"} 7\na{node=\"n 1\"} 3\n";
        assert_eq!(value(page, "a").expect("it is there"), 3.0);
        assert!(value(page, "a_to").is_err());
    }
}
