//! The price book through its file: what it answers, and what it refuses.

use super::*;
use crate::tenant::{Site, Tenants};
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;

mod answers;
mod errors;
mod terms;
mod versions;

const EXAMPLE: &str = include_str!("../../prices.example.toml");

fn zone() -> Tz {
    Tz::America__Sao_Paulo
}

fn at(text: &str) -> i64 {
    crate::instant::parse(text, zone()).expect("an instant")
}

fn usd() -> Currency {
    Currency::parse("USD").expect("a currency")
}

/// A `[[price]]` of 3.50 per GPU-hour.
fn price(id: &str, model: &str, rest: &str) -> String {
    format!("[[price]]\nid = \"{id}\"\nmodel = \"{model}\"\nper_gpu_hour = \"3.50\"\n{rest}\n")
}

fn parse(text: &str) -> Result<PriceBook, PriceError> {
    PriceBook::parse("prices.toml", text, zone())
}

const TENANTS: &str = r#"
[[tenant]]
id = "research"
[[tenant]]
id = "vision"
parent = "research"
[[tenant]]
id = "speech"
parent = "research"
[[pool]]
name = "spot"
nodes = ["spot-*"]
[[rule]]
tenant = "vision"
match = { namespace = "vision" }
"#;

fn tenants() -> Tenants {
    Tenants::parse("tenants.toml", TENANTS, zone()).expect("tenants")
}

/// Read and bound to USD and the tenants above.
fn book(text: &str) -> PriceBook {
    let parsed = parse(text).unwrap_or_else(|error| panic!("{}\n{text}", chain(&error)));
    parsed.bind(&usd(), &tenants()).unwrap_or_else(|error| panic!("{}\n{text}", chain(&error)))
}

/// Whatever is wrong with a text, as a person reads it.
fn wrong(text: &str) -> String {
    let bound = parse(text).and_then(|book| book.bind(&usd(), &tenants()));
    chain(&bound.expect_err(text))
}

/// The whole chain, as a person reads it.
fn chain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|s| format!(": {s}")).unwrap_or_default();
    format!("{error}{source}")
}

/// What a tenant asks about a whole H100 on a plain node in the middle of 2026.
struct Ask {
    model: &'static str,
    profile: &'static str,
    share: Share,
    tenant: &'static str,
    attributes: &'static [(&'static str, &'static str)],
    node: &'static str,
    at: &'static str,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            model: "H100",
            profile: "",
            share: Share::WHOLE,
            tenant: "vision",
            attributes: &[],
            node: "node-1",
            at: "2026-06-15",
        }
    }
}

impl Ask {
    fn of<T>(&self, answer: impl FnOnce(&Asked<'_>) -> T) -> T {
        let path = tenants().ancestors(&TenantId::parse(self.tenant).expect("a tenant"), at(self.at));
        let owner = Owner {
            kind: OwnerKind::Slurm,
            attributes: self.attributes.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            evidence: String::new(),
        };
        answer(&Asked {
            model: self.model,
            profile: self.profile,
            share: self.share,
            path: &path,
            owner: Some(&owner),
            site: Site { cluster: "berlin", node: self.node },
            at_ms: at(self.at),
        })
    }

    /// `entry: price of list per unit`, or why there is none.
    fn rate(&self, book: &PriceBook) -> String {
        self.of(|asked| match book.rate(asked) {
            Ok(rate) => format!("{}: {} of {} per {}", rate.entry, rate.price, rate.list, rate.unit.word()),
            Err(why) => format!("{why:?}"),
        })
    }
}
