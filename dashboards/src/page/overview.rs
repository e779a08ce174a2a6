//! The first page: the months, who held what in the one that is open, and that it is the whole fleet.

use super::{Heading, Links, STYLE, html};
use crate::text::{check, of_fleet};
use askama::Template;
use billing::statement::Bill;
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
        let part = |name: &str, quantity: schema::units::NanoGpuHours, amount| PartView {
            name: name.into(),
            path: String::new(),
            href: None,
            gpu_hours: words::gpu_hours(quantity),
            of_fleet: of_fleet(quantity.0, fleet.capacity.0),
            amount: currency.show(amount),
            note: String::new(),
        };
        let tenants = bill.tenants.iter().map(|s| PartView {
            path: s.path.clone(),
            href: links.statement(&s.number),
            note: match s.totals.unpriced_lines {
                0 => String::new(),
                lines => format!("{lines} unpriced"),
            },
            ..part(&s.tenant.name, s.totals.quantity, s.totals.amount)
        });
        // The fleet's parts are the tenants in the same order, then what the platform keeps.
        let platform = fleet.parts.iter().skip(bill.tenants.len());
        let unpriced = bill.tenants.iter().map(|s| s.totals.unpriced_lines).sum::<u32>();
        Self {
            heading: Heading::of(context),
            label: context.period.label().into(),
            currency: currency.code().into(),
            tenants: tenants.collect(),
            platform: platform.map(|p| part(&p.name, p.quantity, p.amount)).collect(),
            platform_href: links.statement(&bill.platform.number),
            fleet: part("fleet", fleet.capacity, fleet.amount),
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
