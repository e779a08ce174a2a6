//! Calculations as the page writes them, checked in exact fractions.
//!
//! `289 h × 3/7 = 123.857142692 GPU-hours × 2.10 = 260.10`: hours times a share are the GPU-hours, to a unit of the ninth
//! decimal for each hour, because each hour is apportioned by itself; those times the price are the amount, rounded once to
//! cents, half to even. Everything else, `12.50 + 3.00 = 15.50`, is exact. Words between the numbers are units.

/// A fraction of whole numbers that are small enough here.
#[derive(Debug, Clone, Copy)]
struct Exact {
    num: i128,
    den: i128,
}

impl Exact {
    fn equals(self, other: Exact) -> bool {
        self.num * other.den == other.num * self.den
    }

    fn times(self, other: Exact) -> Exact {
        Exact { num: self.num * other.num, den: self.den * other.den }.reduced()
    }

    fn plus(self, other: Exact) -> Exact {
        Exact { num: self.num * other.den + other.num * self.den, den: self.den * other.den }.reduced()
    }

    fn minus(self) -> Exact {
        Exact { num: -self.num, den: self.den }
    }

    fn reduced(self) -> Exact {
        let (mut a, mut b) = (self.num.abs(), self.den);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = a.max(1);
        Exact { num: self.num / divisor, den: self.den / divisor }
    }

    /// In hundredths, a half to the even one.
    fn cents(self) -> i128 {
        let scaled = self.num * 100;
        let (floor, rest) = (scaled.div_euclid(self.den), scaled.rem_euclid(self.den) * 2);
        let up = rest > self.den || (rest == self.den && floor % 2 != 0);
        floor + i128::from(up)
    }
}

/// One side of an equals sign.
#[derive(Debug, Clone)]
struct Side {
    /// Summands, each a product of these numbers.
    terms: Vec<(bool, Vec<(String, Exact)>)>,
    has_gpu_hours: bool,
}

/// Sides that are equal, at least two.
#[derive(Debug, Clone)]
pub struct Equation {
    sides: Vec<Side>,
}

/// `1,234.50` or `3/7`.
fn number(word: &str) -> Option<Exact> {
    let plain = word.replace(',', "");
    let (top, bottom) = plain.split_once('/').unwrap_or((&plain, "1"));
    let decimal = |text: &str| -> Option<Exact> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{rest}");
        Some(Exact { num: digits.parse().ok()?, den: 10i128.pow(u32::try_from(rest.len()).ok()?) })
    };
    let (top, bottom) = (decimal(top)?, decimal(bottom)?);
    (bottom.num > 0).then(|| Exact { num: top.num * bottom.den, den: top.den * bottom.num }.reduced())
}

impl Side {
    fn parse(text: &str) -> Result<Self, String> {
        let mut side = Side { terms: vec![(false, Vec::new())], has_gpu_hours: false };
        let mut joined = true;
        for word in text.split_whitespace() {
            match word {
                "×" => joined = true,
                "+" | "−" => {
                    side.terms.push((word == "−", Vec::new()));
                    joined = true;
                }
                "GPU-hours" => side.has_gpu_hours = true,
                _ => {
                    let Some(value) = number(word) else { continue };
                    if !joined {
                        return Err(format!("{word} follows another number"));
                    }
                    joined = false;
                    side.terms.last_mut().expect("never empty").1.push((word.into(), value));
                }
            }
        }
        // A sign before the first number.
        if side.terms.len() > 1 && side.terms[0].1.is_empty() {
            side.terms.remove(0);
        }
        match side.terms.iter().all(|(_, factors)| !factors.is_empty()) && !joined {
            true => Ok(side),
            false => Err(format!("{text:?} lacks a number")),
        }
    }

    fn value(&self) -> Exact {
        let product = |factors: &[(String, Exact)]| {
            factors.iter().fold(Exact { num: 1, den: 1 }, |product, (_, factor)| product.times(*factor))
        };
        self.terms.iter().fold(Exact { num: 0, den: 1 }, |sum, (minus, factors)| {
            let value = product(factors);
            sum.plus(if *minus { value.minus() } else { value })
        })
    }

    /// `q GPU-hours × p`: the quantity as written, and its value.
    fn quantity(&self) -> Option<(String, Exact)> {
        let [(minus, factors)] = self.terms.as_slice() else { return None };
        let (text, value) = factors.first().filter(|_| self.has_gpu_hours)?;
        Some(match minus {
            true => (format!("-{text}"), value.minus()),
            false => (text.clone(), *value),
        })
    }
}

impl Equation {
    /// Reads it.
    ///
    /// # Errors
    /// What isn't a number where one belongs.
    pub fn parse(text: &str) -> Result<Self, String> {
        let sides = text.split(" = ").map(Side::parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { sides })
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// Which side doesn't equal the one before it.
    pub fn check(&self) -> Result<(), String> {
        for pair in self.sides.windows(2) {
            let (left, right) = (&pair[0], &pair[1]);
            let holds = match (left.quantity(), right.quantity()) {
                (None, Some((_, quantity))) => {
                    let hours = left
                        .terms
                        .iter()
                        .map(|(_, factors)| factors[0].1)
                        .fold(1, |sum, first| sum + first.num.abs() / first.den);
                    let off = left.value().plus(quantity.minus());
                    off.num.abs() * 1_000_000_000 <= off.den * hours
                }
                (Some(_), None) => left.value().cents() * right.value().den == right.value().num * 100,
                _ => left.value().equals(right.value()),
            };
            if !holds {
                return Err(format!("{} isn't {}", shown(left.value()), shown(right.value())));
            }
        }
        Ok(())
    }

    /// The GPU-hours in it as a statement writes them, where it has any.
    pub fn gpu_hours(&self) -> Option<String> {
        self.sides.iter().find_map(Side::quantity).map(|(text, _)| text)
    }

    /// What it ends in, as a statement writes it.
    pub fn result(&self) -> String {
        let (minus, factors) = &self.sides.last().expect("two sides at least").terms[0];
        format!("{}{}", if *minus { "-" } else { "" }, factors[0].0)
    }
}

fn shown(value: Exact) -> String {
    format!("{:.9}", value.num as f64 / value.den as f64)
}

#[test]
fn a_wrong_calculation_is_noticed() {
    let check = |text: &str| Equation::parse(text).and_then(|equation| equation.check());
    for right in [
        "289 h × 3/7 = 123.857142692 GPU-hours × 2.10 = 260.10",
        "120 GPU-hours × 3.36 = 403.20",
        "− 121.000000000 GPU-hours × 3.36 = − 406.56",
        "2,000.00 − 1.50 EUR = 1,998.50",
        "1.000000000 GPU-hours × 0.125 = 0.12",
    ] {
        check(right).unwrap_or_else(|error| panic!("{right}: {error}"));
    }
    for wrong in [
        "289 h × 3/7 = 123.857143692 GPU-hours × 2.10 = 260.10",
        "289 h × 3/7 = 123.857142692 GPU-hours × 2.10 = 260.11",
        "1.00 + 1.00 = 2.01",
        "1.00 2.00 = 3.00",
        "1.00 + = 1.00",
    ] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}
