//! Figures with targets: printed a line each as `SECTION FIGURE = VALUE UNIT (target T)` and written as JSON
//! `{section: {figure: {value, unit, target, ok}}}`.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What a figure is held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// No more than.
    AtMost(f64),
    /// No less than.
    AtLeast(f64),
    /// Within an absolute distance of a value.
    Within(f64, f64),
    /// Shown, not judged.
    Shown,
}

impl Target {
    fn met_by(self, value: f64) -> bool {
        match self {
            Target::AtMost(t) => value <= t,
            Target::AtLeast(t) => value >= t,
            Target::Within(t, distance) => (value - t).abs() <= distance,
            Target::Shown => true,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::AtMost(t) => write!(f, "<= {t}"),
            Target::AtLeast(t) => write!(f, ">= {t}"),
            Target::Within(t, distance) => write!(f, "{t} +- {distance}"),
            Target::Shown => f.write_str("none"),
        }
    }
}

#[derive(Serialize)]
struct Figure {
    value: f64,
    unit: String,
    target: String,
    ok: bool,
}

/// The figures of one run.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, BTreeMap<String, Figure>>);

impl Figures {
    /// Records and prints one figure.
    pub fn add(&mut self, section: &str, figure: &str, value: f64, unit: &str, target: Target) {
        // A value that can't be computed misses its target rather than passing a comparison with NaN.
        let ok = value.is_finite() && target.met_by(value);
        let verdict = if ok { "" } else { "  MISSED" };
        println!("{section} {figure} = {value} {unit} (target {target}){verdict}");
        self.0.entry(section.to_string()).or_default().insert(
            figure.to_string(),
            Figure { value, unit: unit.to_string(), target: target.to_string(), ok },
        );
    }

    /// How many met their target, and how many didn't.
    pub fn counts(&self) -> (usize, usize) {
        let all = self.0.values().flat_map(BTreeMap::values);
        let ok = all.clone().filter(|f| f.ok).count();
        (ok, all.count() - ok)
    }

    /// Writes the JSON.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        std::fs::write(path, serde_json::to_vec_pretty(self)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_not_a_number_misses_its_target() {
        let mut figures = Figures::default();
        figures.add("s", "nan", f64::NAN, "h", Target::AtMost(1.0));
        figures.add("s", "fine", 0.5, "h", Target::AtMost(1.0));
        assert_eq!(figures.counts(), (1, 1));
    }
}
