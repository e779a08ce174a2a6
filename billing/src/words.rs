//! The words that people read, in one place: a text, a page and a file never name one thing differently.

use crate::charge::{Quantity, Unit};
use crate::closing::Waiver;
use crate::explain::{HostMemory, Member};
use crate::period::Period;
use crate::price::{Basis, Unpriced};
use crate::rating::{Line, LineKey, LinePrice};
use crate::statement::{Converted, Mode, Statement, Status};
use crate::tenant::{CostCentre, Ended, MatchedBy, Tenants};
use schema::id::WorkloadId;
use schema::owner::{Owner, key};
use schema::units::NanoGpuHours;
use schema::wire::{Quality, Sharing};

/// How a device is divided, as a statement names it.
pub fn sharing(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Whole => "exclusive",
        Sharing::TimeSliced => "time-sliced",
        Sharing::Mps => "MPS",
        Sharing::Mig => "MIG",
        Sharing::MigShared => "MIG, shared",
        Sharing::Vgpu => "vGPU",
        Sharing::Unspecified => "sharing unknown to this version",
    }
}

/// The unit of natural time: what an hour is an hour of.
pub fn natural_unit(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Whole | Sharing::Unspecified => "dev-h",
        Sharing::Mig => "inst-h",
        Sharing::TimeSliced | Sharing::MigShared => "slot-h",
        Sharing::Mps => "client-h",
        Sharing::Vgpu => "vm-h",
    }
}

/// One word for a quality.
pub fn quality(quality: Quality) -> &'static str {
    match quality {
        Quality::Measured => "measured",
        Quality::Allocated => "allocated",
        Quality::Estimated => "estimated",
        Quality::MeasuredByDcgm => "measured (dcgm)",
        Quality::Unspecified => "quality unknown to this version",
    }
}

/// How well a line is known: of what is held, and of its busy time where that is known less well.
pub fn line_quality(key: &LineKey) -> String {
    if key.unwatched {
        return format!("{} (scheduler record)", quality(key.quality));
    }
    match (key.quality, key.busy_quality) {
        (Quality::Measured, Quality::Estimated) => "estimated busy".into(),
        (Quality::Estimated, Quality::Estimated) => quality(Quality::Estimated).into(),
        (held, busy @ (Quality::MeasuredByDcgm | Quality::Estimated)) => {
            format!("{}, busy {}", quality(held), quality(busy))
        }
        (held, Quality::Unspecified) => format!("{}, use unknown", quality(held)),
        (held, _) => quality(held).into(),
    }
}

/// Members of a workload in one text that are named; the rest are counted.
const MEMBERS_MAX: usize = 16;

/// The devices of a workload: `on n1: GPU-a 24.00, GPU-b 24.00; on n2: GPU-c 24.00`.
pub fn members(members: &[Member]) -> String {
    let mut text = String::new();
    let mut node = None;
    for member in members.iter().take(MEMBERS_MAX) {
        let lead = match node {
            Some(known) if known == &member.node => ", ".to_owned(),
            Some(_) => format!("; on {}: ", member.node),
            None => format!("on {}: ", member.node),
        };
        node = Some(&member.node);
        text.push_str(&lead);
        text.push_str(&format!("{} {}", member.device, gpu_hours_short(member.held)));
    }
    if members.len() > MEMBERS_MAX {
        text.push_str(&format!(" and {} more", members.len() - MEMBERS_MAX));
    }
    text
}

/// Host memory over time by tier: `12.00 GiB-hours near, 3.50 far`.
pub fn host_memory(held: HostMemory) -> String {
    const GIB_HOUR_BYTE_MS: u128 = (1 << 30) * 3_600_000;
    let hours = |byte_ms: u128| {
        let hundredths = (byte_ms * 100 + GIB_HOUR_BYTE_MS / 2) / GIB_HOUR_BYTE_MS;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    format!("{} GiB-hours near, {} far", hours(held.near_byte_ms), hours(held.far_byte_ms))
}

/// A workload, as people call it: `job 88121`, `pod speech/train-0`.
pub fn workload(owner: Option<&Owner>, id: WorkloadId) -> String {
    let attribute = |key: &str| owner.and_then(|owner| owner.attributes.get(key));
    if let Some(job) = attribute(key::SLURM_JOB) {
        return format!("job {job}");
    }
    if let (Some(namespace), Some(pod)) =
        (attribute(key::NAMESPACE), attribute(key::POD).or(attribute(key::POD_UID)))
    {
        return format!("pod {namespace}/{pod}");
    }
    let named = [
        (key::POD_UID, "pod"),
        (key::UNIT, "unit"),
        (key::CONTAINER_ID, "container"),
        (key::VM_ID, "VM"),
        (key::USER, "user"),
        (key::UID, "user"),
    ];
    let name = named.into_iter().find_map(|(key, word)| attribute(key).map(|name| format!("{word} {name}")));
    name.unwrap_or_else(|| format!("workload {id}"))
}

/// A model without its maker: `H100 80GB HBM3`.
pub fn short_model(model: &str) -> &str {
    model.strip_prefix("NVIDIA ").unwrap_or(model)
}

/// What a line is: `A100 MIG 3g.40gb`, `L40S time-sliced, 1 of 4`.
pub fn line_what(key: &LineKey) -> String {
    let model = short_model(&key.model);
    let of = |share: &schema::share::Share| format!("{} of {}", share.num, share.den);
    match key.sharing {
        Sharing::Mig => format!("{model} MIG {}", key.profile),
        Sharing::MigShared => format!("{model} MIG {}, shared", key.profile),
        Sharing::TimeSliced | Sharing::Mps | Sharing::Vgpu => {
            format!("{model} {}, {}", sharing(key.sharing), of(&key.share))
        }
        Sharing::Whole | Sharing::Unspecified => format!("{model} {}", sharing(key.sharing)),
    }
}

/// What is charged of a line where that isn't simply the time that it held: `basis busy: 120 GPU-h`.
pub fn charged(line: &Line) -> Option<String> {
    let (key, quantity) = (&line.key, line.quantity);
    let of_quantity = || self::quantity(quantity);
    if key.basis.is_refused() {
        return Some(format!("basis {} refused, busy time isn't known: held", key.basis.asked));
    }
    match (key.basis.charged, quantity.unit) {
        (Basis::Held, Unit::GpuHour) => None,
        (Basis::Held, _) => Some(of_quantity()),
        (basis, _) => Some(format!("basis {basis}: {}", of_quantity())),
    }
}

/// The tier of a line's price, where it isn't the first: `tier 2`.
pub fn tier(price: &LinePrice) -> Option<String> {
    price.rate().filter(|rate| rate.tier > 0).map(|rate| format!("tier {}", rate.tier + 1))
}

/// A quantity with its unit: `50 GPU-h`.
pub fn quantity(quantity: Quantity) -> String {
    format!("{} {}", gpu_hours_short(NanoGpuHours(quantity.nano)), quantity.unit.word())
}

/// The total of a statement in its tenant's currency; `None` where that is the service's.
pub fn converted(statement: &Statement) -> Option<String> {
    match &statement.converted {
        Converted::Same => None,
        Converted::Missing => Some(
            "The total in this tenant's currency isn't known: no one exchange rate holds over the period."
                .into(),
        ),
        Converted::At { currency, amount, rate } => Some(format!(
            "{} in {}: {} at {rate}",
            total(statement.context.mode),
            currency.code(),
            currency.show(*amount)
        )),
    }
}

/// A waiver as a statement prints it.
pub fn waiver(waiver: &Waiver) -> String {
    format!("Waived at the close: {} ({}): {}", waiver.item.name(), waiver.finding, waiver.reason)
}

/// Why there is no amount, or the price.
pub fn price(price: &LinePrice) -> String {
    match price {
        LinePrice::Priced(rate) if rate.unit == Unit::GpuHour => rate.price.to_string(),
        LinePrice::Priced(rate) => format!("{}/{}", rate.price, rate.unit.word()),
        LinePrice::Unpriced(_) => "unpriced".into(),
    }
}

/// What to do about a line without a price; `None` where there is one.
pub fn unpriced_remedy(price: &LinePrice, model: &str) -> Option<String> {
    match price {
        LinePrice::Priced(_) => None,
        LinePrice::Unpriced(Unpriced::UnknownModel) => {
            Some(format!("no price names {model}: add a [[price]] for it to prices.toml"))
        }
        LinePrice::Unpriced(Unpriced::NotForThis) => Some(format!(
            "prices of {model} are for other tenants, classes, pools or profiles: add a [[price]] without them to prices.toml"
        )),
        LinePrice::Unpriced(Unpriced::NoExchangeRate) => Some(format!(
            "the price of {model} is in another currency and no rate holds at that time: add an [[exchange_rate]] to prices.toml"
        )),
        LinePrice::Unpriced(Unpriced::NotAtThisTime) => {
            Some(format!("no price of {model} holds at that time: extend one in prices.toml"))
        }
    }
}

/// `PROVISIONAL` or `FINAL`.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Provisional => "PROVISIONAL",
        Status::Final => "FINAL",
    }
}

/// The watermark of a mode; `None` where amounts are due.
pub fn watermark(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Showback => Some("SHOWBACK - not an invoice"),
        Mode::Chargeback => None,
    }
}

/// What the sum of a statement is called.
pub fn total(mode: Mode) -> &'static str {
    match mode {
        Mode::Showback => "TOTAL",
        Mode::Chargeback => "DUE",
    }
}

/// What the sum of the platform's statement is called: nobody owes it.
pub const PLATFORM_TOTAL: &str = "TOTAL";

/// What decided whose usage was, with the rule's words and the time in which it counts.
pub fn matched_by(by: &MatchedBy, tenants: &Tenants, period: &Period) -> String {
    let date = |at_ms| crate::instant::local(at_ms, period.zone()).format("%Y-%m-%d %H:%M").to_string();
    match by {
        MatchedBy::Rule(number) => match tenants.rules().get(number - 1) {
            Some(rule) => {
                let holds = match (rule.from_ms, rule.to_ms) {
                    (None, None) => "always".to_owned(),
                    (Some(from_ms), None) => format!("from {}", date(from_ms)),
                    (None, Some(to_ms)) => format!("up to {}", date(to_ms)),
                    (Some(from_ms), Some(to_ms)) => format!("{} to {}", date(from_ms), date(to_ms)),
                };
                format!("rule {number}: {} ({holds})", rule.describe())
            }
            None => format!("rule {number} of another version"),
        },
        MatchedBy::Attribute(attribute) => format!("no rules are written; {attribute} names the tenant"),
        MatchedBy::NoOwner => "no owner was found".into(),
        MatchedBy::TenantEnded(ended) => unattributed(Some(ended), period.zone()),
        MatchedBy::NoRule => "an owner is known and no rule matches it".into(),
    }
}

/// Why use is nobody's: `unattributed: tenant vision ended 2026-09-15`, or `unattributed` alone.
pub fn unattributed(ended: Option<&Ended>, zone: chrono_tz::Tz) -> String {
    ended.map_or_else(
        || "unattributed".into(),
        |ended| format!("unattributed: tenant {} ended {}", ended.tenant, day(ended.at_ms, zone)),
    )
}

/// On the last statement of a tenant.
pub const LAST_STATEMENT: &str = "This is the final statement of this tenant.";

/// The cost centres of a statement: `4711, 4712 from 16 Sep`; `None` where there is none.
pub fn cost_centres(spans: &[CostCentre], zone: chrono_tz::Tz) -> Option<String> {
    let name = |span: &CostCentre| span.name.clone().unwrap_or_else(|| "none".into());
    let (first, rest) = spans.split_first()?;
    let rest = rest.iter().map(|span| {
        let at = crate::instant::local(span.from_ms, zone);
        let form = if at.time() == chrono::NaiveTime::MIN { "%-d %b" } else { "%-d %b %H:%M" };
        format!(", {} from {}", name(span), at.format(form))
    });
    Some(std::iter::once(name(first)).chain(rest).collect())
}

/// A local day, with the time where it isn't midnight: `2026-09-15`, `2026-09-15 06:00`.
pub fn day(at_ms: i64, zone: chrono_tz::Tz) -> String {
    let at = crate::instant::local(at_ms, zone);
    let form = if at.time() == chrono::NaiveTime::MIN { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" };
    at.format(form).to_string()
}

/// Milliseconds as hours for people: whole, or with up to three decimals, rounded down.
pub fn hours(ms: i64) -> String {
    let (whole, rest) = (ms / schema::units::HOUR_MS, ms % schema::units::HOUR_MS);
    let decimals = format!("{:03}", rest * 1_000 / schema::units::HOUR_MS);
    let decimals = decimals.trim_end_matches('0');
    let whole = crate::money::group_thousands(&whole.to_string());
    if decimals.is_empty() { whole } else { format!("{whole}.{decimals}") }
}

/// Device time with thousands separators and all 9 decimals.
pub fn gpu_hours(quantity: schema::units::NanoGpuHours) -> String {
    let text = quantity.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, decimals) = digits.split_once('.').expect("nine decimals are always printed");
    format!("{sign}{}.{decimals}", crate::money::group_thousands(whole))
}

/// Device time without decimals that are zero: `480`, `308.571428571`.
pub fn gpu_hours_short(quantity: schema::units::NanoGpuHours) -> String {
    gpu_hours(quantity).trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Millijoules as kWh with 3 decimals, rounded toward zero.
pub fn kwh(energy_mj: i64) -> String {
    // 1 kWh is 3.6e9 millijoules.
    let wh = energy_mj / 3_600_000;
    let whole = crate::money::group_thousands(&(wh.abs() / 1_000).to_string());
    format!("{}{whole}.{:03}", if wh < 0 { "-" } else { "" }, wh.abs() % 1_000)
}
