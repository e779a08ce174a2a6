//! A ledger to post from: devices over days, what tenants held of them, and a price book.
#![allow(dead_code, reason = "each test binary uses its part of the fixture")]

use billing::charge::Charge;
use billing::money::{Amount, Currency, Exact, UnitPrice};
use billing::period::{Period, parse_zone};
use billing::policy::Policies;
use billing::post::{Held, Ledger, OwnPrice};
use billing::price::{Lookup, PriceBook};
use billing::tenant::{TenantId, Tenants};
use billing::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use schema::window::Window;

pub const H: i64 = 1_000_000_000;
pub const H100: &str = "NVIDIA H100 80GB HBM3";
pub const A100: &str = "NVIDIA A100-SXM4-80GB";
pub const L40S: &str = "NVIDIA L40S";
/// Has no price.
pub const B200: &str = "NVIDIA B200";

/// vision-dev is below vision; `train` is the nodes t-*, `edge` the nodes e-*.
pub const TENANTS: &str = r#"
[[tenant]]
id = "vision"

[[tenant]]
id = "vision-dev"
parent = "vision"

[[tenant]]
id = "speech"

[[tenant]]
id = "infra"

[[tenant]]
id = "robotics"
ends = 2026-09-11

[[pool]]
name = "train"
nodes = "t-*"

[[pool]]
name = "edge"
nodes = "e-*"

[[rule]]
tenant = "vision"
match = { namespace = "vision" }
"#;

pub const PRICES: &str = r#"
[[price]]
id = "h100"
model = "NVIDIA H100*"
per_gpu_hour = "3.50"
from = 2026-01-01

[[price]]
id = "a100"
model = "NVIDIA A100*"
per_gpu_hour = "2.10"
from = 2026-01-01

[[price]]
id = "l40s"
model = "NVIDIA L40S"
per_gpu_hour = "1.20"
from = 2026-01-01
"#;

pub fn usd() -> Currency {
    Currency::parse("USD").expect("a currency")
}

pub fn id(text: &str) -> TenantId {
    TenantId::parse(text).expect("an id")
}

pub fn amount(text: &str) -> Amount {
    billing::post::adjust::parse_amount(text, &usd()).expect("an amount")
}

pub fn september() -> Period {
    Period::parse("2026-09", parse_zone("America/Sao_Paulo").expect("a zone")).expect("a period")
}

pub fn at(text: &str) -> i64 {
    billing::instant::parse(text, september().zone()).expect("an instant")
}

/// A local day of September.
pub fn day(number: u32) -> Window {
    Window::new(at(&format!("2026-09-{number:02}")), at(&format!("2026-09-{:02}", number + 1)))
}

pub fn tenants() -> Tenants {
    Tenants::parse("tenants.toml", TENANTS, september().zone()).expect("tenants")
}

/// The prices, and these entries besides.
pub fn book(policies: &str) -> PriceBook {
    let text = format!("{PRICES}\n{policies}");
    let book = PriceBook::parse("prices.toml", &text, september().zone()).unwrap_or_else(|e| panic!("{e}"));
    book.policies().check_against(&tenants()).unwrap_or_else(|e| panic!("{e}"));
    book
}

/// A period's devices and usage, and its price book.
pub struct Month {
    pub book: PriceBook,
    pub tenants: Tenants,
    pub currency: Currency,
    pub devices: Vec<DeviceTotal>,
    pub held: Vec<Held>,
}

/// Hours of a device in a segment: held by tenants, free, stranded, unavailable, unobserved; 1e-9 hours.
pub struct Parts<'a> {
    pub node: &'a str,
    pub device: &'a str,
    pub model: &'a str,
    pub held: &'a [(&'a str, i64)],
    pub rest: [i64; 4],
}

impl Month {
    pub fn new(policies: &str) -> Self {
        Self {
            book: book(policies),
            tenants: tenants(),
            currency: usd(),
            devices: Vec::new(),
            held: Vec::new(),
        }
    }

    pub fn policies(&self) -> &Policies {
        self.book.policies()
    }

    pub fn ledger(&self) -> Ledger<'_> {
        Ledger {
            policies: self.book.policies(),
            tenants: &self.tenants,
            held: &self.held,
            devices: &self.devices,
            currency: &self.currency,
        }
    }

    /// The platform's own price: the book's.
    pub fn own_price(&self) -> impl Fn(&DeviceTotal) -> Option<OwnPrice> + '_ {
        |device| match self.book.lookup(&device.model, device.segment.start_ms) {
            Lookup::Priced(price) => {
                Some(OwnPrice { entry: price.id.clone(), per_gpu_hour: price.first_price() })
            }
            Lookup::Unpriced(_) => None,
        }
    }

    /// What a tenant pays for a device: the reservation's price where it is its own, else the book's.
    fn price(&self, device: &DeviceTotal, tenant: &TenantId) -> Option<UnitPrice> {
        let at_ms = device.segment.start_ms;
        let reserved = self.policies().reserved_price(&device.device, tenant, at_ms, &self.tenants);
        reserved.map(|r| r.per_gpu_hour).or_else(|| self.own_price()(device).map(|p| p.per_gpu_hour))
    }

    /// Adds a device in a segment; every tenant's usage of a model at a price is one line.
    pub fn add(&mut self, segment: Window, parts: &Parts<'_>) {
        let held: NanoGpuHours = parts.held.iter().map(|(_, held)| NanoGpuHours(*held)).sum();
        let [free, stranded, unavailable, unobserved] = parts.rest.map(NanoGpuHours);
        let observed = held + free + stranded;
        let device = DeviceTotal {
            segment,
            cluster: "c1".into(),
            node: parts.node.into(),
            device: parts.device.into(),
            model: parts.model.into(),
            capacity: observed + unavailable + unobserved,
            held,
            free,
            stranded,
            unavailable,
            unobserved,
            busy: NanoGpuHours(0),
            ghost: NanoGpuHours(0),
            not_busy: observed,
            unknown: NanoGpuHours(0),
            energy_mj: None,
            energy_unattributed_mj: 0,
            oversubscribed: false,
            contested: false,
        };
        assert!(device.adds_up());
        for (tenant, held) in parts.held {
            let (tenant, held) = (id(tenant), NanoGpuHours(*held));
            let price = self.price(&device, &tenant);
            self.held.push(Held {
                segment,
                cluster: device.cluster.clone(),
                node: device.node.clone(),
                device: device.device.clone(),
                model: device.model.clone(),
                line: format!("{} at {price:?}", device.model),
                exact: price.map(|price| Exact::of(held, price)),
                tenant,
                held,
            });
        }
        self.devices.push(device);
    }
}

/// A charge as a line of text: tenant, what, quantity, price, amount.
pub fn show(number: &str, charge: &Charge) -> String {
    let quantity = charge.quantity.map_or_else(String::new, |q| {
        let price = charge.unit_price.map_or_else(String::new, |p| format!(" x {p}"));
        format!("{} {}{price}", NanoGpuHours(q.nano), q.unit.word())
    });
    let amount = usd().show(charge.amount);
    format!("{number:<3} {:<72} {quantity:>32} {amount:>9}", charge.what)
}
