//! How many GPUs, of which kind, and how much of each: TRES texts, counts and fractions.

use super::entry::Part;
use super::{RowError, said};
use schema::share::Share;

/// The most GPUs that one run is believed to hold.
pub(super) const GPUS_MAX: u32 = 50_000;
/// Digits that a decimal fraction may have.
const DECIMALS_MAX: usize = 9;

/// The GPUs of a TRES text: `cpu=8,gres/gpu=2,gres/gpu:a100=2`. A typed entry repeats the untyped one, so of the untyped what is
/// left counts.
pub(super) fn of_tres(text: &str, shards_per_gpu: Option<u32>) -> Result<Vec<Part>, RowError> {
    let wrong = || RowError::Tres { text: text.into() };
    let (mut untyped, mut typed, mut shards, mut mps) = (None, Vec::new(), 0u32, 0u32);
    for entry in text.split(',').filter_map(said) {
        let (name, count) = entry.rsplit_once('=').ok_or_else(wrong)?;
        // Other resources have counts such as `12000M`.
        let Some(name) = name.strip_prefix("gres/") else { continue };
        let count = || count.parse::<u32>().ok().filter(|n| *n <= GPUS_MAX).ok_or_else(wrong);
        match name.split_once(':').map_or((name, None), |(name, kind)| (name, Some(kind))) {
            ("gpu", None) => untyped = Some(count()?),
            ("gpu", Some(kind)) => typed.push((kind, count()?)),
            ("shard", None) => shards = count()?,
            ("mps", None) => mps = count()?,
            _ => {}
        }
    }
    let named: u32 = typed.iter().map(|(_, count)| *count).sum();
    let mut parts: Vec<Part> = typed.iter().map(|(kind, count)| typed_part(kind, *count)).collect();
    let rest = untyped.unwrap_or(0).saturating_sub(named);
    if rest > 0 {
        parts.push(part(None, String::new(), rest, Share::WHOLE));
    }
    if parts.iter().all(|p| p.gpus == 0) && shards > 0 {
        let per_gpu = shards_per_gpu.ok_or(RowError::Slots("shards"))?;
        parts.push(part(None, String::new(), shards, Share::new(1, per_gpu)));
    }
    if parts.iter().all(|p| p.gpus == 0) && mps > 0 {
        return Err(RowError::Slots("MPS percentages"));
    }
    parts.retain(|p| p.gpus > 0);
    if parts.len() > 1 {
        for part in &mut parts {
            part.part =
                [part.model.as_deref().unwrap_or("gpu"), &part.profile].join(" ").trim_end().to_owned();
        }
    }
    Ok(parts)
}

fn part(model: Option<String>, profile: String, gpus: u32, share: Share) -> Part {
    Part { part: String::new(), model, profile, gpus, share, device: None }
}

/// A GRES type: a model, or a MIG profile of one, `a100_3g.20gb`.
fn typed_part(kind: &str, gpus: u32) -> Part {
    match kind
        .rmatch_indices(['_', '-'])
        .map(|(at, _)| (&kind[..at], &kind[at + 1..]))
        .chain([("", kind)])
        .find_map(|(model, profile)| Some((model, profile, slices(profile)?)))
    {
        Some((model, profile, slices)) => {
            let model = (!model.is_empty()).then(|| model.to_owned());
            let share = slice_share(slices, model.as_deref());
            part(model, profile.into(), gpus, share)
        }
        None => part(Some(kind.into()), String::new(), gpus, Share::WHOLE),
    }
}

/// Compute slices of a MIG profile: 3 of `3g.20gb`.
pub(super) fn slices(profile: &str) -> Option<u32> {
    let (slices, memory) = profile.split_once("g.")?;
    let digits = memory.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && memory[digits..].starts_with("gb")).then_some(())?;
    slices.parse().ok().filter(|n| (1..=7).contains(n))
}

/// Of how many slices a GPU has: 7, but an A30 4.
pub(super) fn slice_share(slices: u32, model: Option<&str>) -> Share {
    let is_a30 =
        model.is_some_and(|m| m.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|w| w == "a30"));
    Share::new(slices, if is_a30 { 4.max(slices) } else { 7 })
}

/// A count of GPUs, or a decimal below one that is a share of one: `8`, `0.25`.
pub(super) fn count(column: &str, text: &str) -> Result<(u32, Share), RowError> {
    let want =
        "a number of GPUs, or a fraction below 1 (for equal shares of several map a count and a fraction)";
    let wrong = || RowError::Number { column: column.into(), text: text.into(), want };
    let (num, den) = decimal(text).ok_or_else(wrong)?;
    match (num % den, num / den) {
        (0, whole) if whole <= GPUS_MAX => Ok((whole, Share::WHOLE)),
        (_, 0) => Ok((1, Share::new(num, den))),
        _ => Err(wrong()),
    }
}

/// A share of a GPU in thousandths: `810`.
pub(super) fn milli(column: &str, text: &str) -> Result<Share, RowError> {
    let want = "thousandths of a GPU, 0 to 1000";
    let wrong = || RowError::Number { column: column.into(), text: text.into(), want };
    let num = text.parse().ok().filter(|n| *n <= 1000).ok_or_else(wrong)?;
    Ok(Share::new(num, 1000))
}

/// A share of a GPU as a decimal: `0.81`.
pub(super) fn fraction(column: &str, text: &str) -> Result<Share, RowError> {
    let want = "a fraction of a GPU, 0 to 1, with at most 9 decimals";
    let wrong = || RowError::Number { column: column.into(), text: text.into(), want };
    let (num, den) = decimal(text).filter(|(num, den)| num <= den).ok_or_else(wrong)?;
    Ok(Share::new(num, den))
}

/// A decimal as an exact fraction.
fn decimal(text: &str) -> Option<(u32, u32)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let decimals = decimals.trim_end_matches('0');
    if whole.is_empty() && decimals.is_empty()
        || !digits(whole)
        || !digits(decimals)
        || decimals.len() > DECIMALS_MAX
    {
        return None;
    }
    let den = 10u32.pow(u32::try_from(decimals.len()).ok()?);
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u32>().ok()? };
    let part = if decimals.is_empty() { 0 } else { decimals.parse::<u32>().ok()? };
    Some((whole.checked_mul(den)?.checked_add(part)?, den))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tres(text: &str) -> Result<Vec<String>, RowError> {
        let show = |p: Part| {
            let model = p.model.unwrap_or_else(|| "-".into());
            format!("{}x{} {model} {} [{}]", p.gpus, p.share, p.profile, p.part)
        };
        Ok(of_tres(text, Some(4))?.into_iter().map(show).collect())
    }

    #[test]
    fn a_typed_entry_repeats_the_untyped_one_and_types_are_told_apart() {
        for (text, want) in [
            ("billing=10,cpu=10,gres/gpu=1,gres/gpu:a100=1,mem=100G,node=1", vec!["1x1 a100  []"]),
            ("gres/gpu:rtx=1", vec!["1x1 rtx  []"]),
            ("gres/gpu:a=1,gres/gpu:b=2", vec!["1x1 a  [a]", "2x1 b  [b]"]),
            ("gres/gpu=3,gres/gpu:a=1", vec!["1x1 a  [a]", "2x1 -  [gpu]"]),
            ("gres/gpu=2", vec!["2x1 -  []"]),
            ("gres/gpu:a100_3g.20gb=2", vec!["2x3/7 a100 3g.20gb []"]),
            ("gres/gpu:nvidia_a30_1g.6gb=1", vec!["1x1/4 nvidia_a30 1g.6gb []"]),
            ("gres/gpu:1g.10gb=1", vec!["1x1/7 - 1g.10gb []"]),
            ("gres/shard=3", vec!["3x1/4 -  []"]),
            ("gres/gpu=0,cpu=2", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(tres(text), Ok(want.iter().map(|s| s.to_string()).collect()), "{text}");
        }
        for text in ["gres/gpu=many", "gres/gpu", "gres/gpu=99999999", "gres/mps=50"] {
            assert!(tres(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fractions_are_exact_and_what_is_more_than_a_gpu_is_refused() {
        assert_eq!(fraction("f", "0.810"), Ok(Share { num: 81, den: 100 }));
        assert_eq!(fraction("f", "1"), Ok(Share::WHOLE));
        assert_eq!(milli("m", "810"), Ok(Share { num: 81, den: 100 }));
        assert_eq!(count("g", "8.0"), Ok((8, Share::WHOLE)));
        assert_eq!(count("g", ".25"), Ok((1, Share { num: 1, den: 4 })));
        assert_eq!(count("g", "0"), Ok((0, Share::WHOLE)));
        for text in ["1.5", "-1", "1e3", "", "60000", "0.1234567891"] {
            assert!(count("g", text).is_err(), "{text}");
        }
        for text in ["1.01", "half"] {
            assert!(fraction("f", text).is_err() && milli("m", text).is_err(), "{text}");
        }
    }
}
