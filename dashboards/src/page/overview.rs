//! The first page: the months, who held what in the one that is open, and that it is the whole fleet.

use super::{Heading, Links, STYLE, html};
use crate::line::NO_AMOUNT;
use crate::text::{check, of_fleet};
use askama::Template;
use billing::statement::{Bill, FleetPart};
use billing::words;

/// A month that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthLink {
    /// `2026-09`.
    pub label: String,
    /// Where its overview is.
    pub href: String,
    /// Whether it is the one that is shown.
    pub current: bool,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    style: &'static str,
    links: &'a Links,
    months: &'a [MonthLink],
    bill: Option<BillView>,
}

struct BillView {
    heading: Heading,
    label: String,
    currency: String,
    tenants: Vec<PartView>,
    platform: Vec<PartView>,
    platform_href: Option<String>,
    fleet: PartView,
    use_parts: [(&'static str, String); 4],
    devices: usize,
    check: &'static str,
    adds_up: bool,
    unpriced_lines: u32,
}

struct PartView {
    name: String,
    path: String,
    href: Option<String>,
    gpu_hours: String,
    of_fleet: String,
    amount: String,
    note: String,
}

/// The overview of a month; `bill` is `None` before there is any.
pub fn overview(months: &[MonthLink], bill: Option<&Bill>, links: &Links) -> String {
    html(&OverviewPage { style: STYLE, links, months, bill: bill.map(|bill| BillView::of(bill, links)) })
}

impl BillView {
    fn of(bill: &Bill, links: &Links) -> Self {
        let (fleet, currency, context) = (&bill.fleet, &bill.platform.currency, &bill.platform.context);
        let part = |part: &FleetPart| PartView {
            name: part.name.clone(),
            path: String::new(),
            href: None,
            gpu_hours: words::gpu_hours(part.quantity),
            of_fleet: of_fleet(part.quantity.0, fleet.capacity.0),
            amount: part.amount_known().map_or_else(|| NO_AMOUNT.into(), |amount| currency.show(amount)),
            note: match part.unpriced.0 {
                0 => String::new(),
                _ => format!("{} GPU-hours unpriced", words::gpu_hours_short(part.unpriced)),
            },
        };
        // The fleet's parts are the tenants in the same order, then what the platform keeps.
        let (of_tenants, of_platform) = fleet.parts.split_at(bill.tenants.len());
        let tenants = bill.tenants.iter().zip(of_tenants).map(|(statement, of_fleet)| PartView {
            name: statement.tenant.name.clone(),
            path: statement.path.clone(),
            href: links.statement(&statement.number),
            ..part(of_fleet)
        });
        let whole = FleetPart {
            name: "fleet".into(),
            quantity: fleet.capacity,
            unpriced: fleet.unpriced,
            amount: fleet.amount,
        };
        let unpriced = bill.tenants.iter().map(|s| s.totals.unpriced_lines).sum::<u32>();
        Self {
            heading: Heading::of(context),
            label: context.period.label().into(),
            currency: currency.code().into(),
            tenants: tenants.collect(),
            platform: of_platform.iter().map(part).collect(),
            platform_href: links.statement(&bill.platform.number),
            fleet: part(&whole),
            use_parts: [
                ("busy", words::gpu_hours_short(fleet.busy)),
                ("ghost", words::gpu_hours_short(fleet.ghost)),
                ("not busy", words::gpu_hours_short(fleet.not_busy)),
                ("use unknown", words::gpu_hours_short(fleet.unknown)),
            ],
            devices: fleet.devices,
            check: check(bill),
            adds_up: fleet.adds_up(),
            unpriced_lines: unpriced + bill.platform.totals.unpriced_lines,
        }
    }
}
