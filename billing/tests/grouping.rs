//! Any grouping of a month sums to what was posted, whatever it is grouped by; and the words that a team lead reads.

mod worked;

use billing::grouping::{Dimension, Gathering, Grouping, Groups, Org};
use billing::money::{Amount, Currency};
use billing::rating::{Rules, rate};
use billing::statement::{Bill, Mode, prepare};
use billing::tenant::{TenantId, Tenants};
use billing::usage::UsageTotal;
use proptest::prelude::*;
use worked::{closed_bill, context, devices, owners, period, prices, tenants, usage};

fn by(text: &str) -> Vec<Dimension> {
    text.split(',').map(|name| name.parse().expect("a dimension")).collect()
}

fn group(bill: &Bill, usage: &[UsageTotal], grouping: &Grouping<'_>) -> Groups {
    let (tenants, prices, owners) = (tenants(), prices(), owners());
    let rules = Rules { tenants: &tenants, prices: &prices };
    let mut gathering = Gathering::default();
    usage.iter().for_each(|row| gathering.add(row, &owners, rules, grouping, "2026-09"));
    let mut groups = Groups::new(grouping.by, &Currency::parse("USD").expect("a currency"));
    groups.add_month(bill, gathering, rules, grouping).expect("the usage is the bill's");
    groups
}

fn grouped(bill: &Bill, text: &str) -> Groups {
    group(bill, &usage(), &Grouping { by: &by(text), only: None, org: Org::AsWas })
}

const NAMES: [&str; 12] = [
    "month",
    "tenant",
    "level:1",
    "level:2",
    "kind",
    "namespace",
    "job",
    "model",
    "profile",
    "sharing",
    "node",
    "label:team",
];

proptest! {
    #[test]
    fn any_grouping_sums_to_the_fleet(names in prop::sample::subsequence(NAMES.to_vec(), 1..5)) {
        let bill = closed_bill();
        let groups = grouped(&bill, &names.join(","));
        let total = groups.total();
        prop_assert_eq!(total.amount, bill.fleet.amount);
        prop_assert_eq!(total.held, bill.fleet.capacity);
        prop_assert_eq!(total.unpriced, bill.fleet.unpriced);
        prop_assert!(groups.rows.keys().all(|values| values.len() == names.len()));
    }
}

#[test]
fn tenants_are_their_statements_and_namespaces_what_is_under_them() {
    let bill = closed_bill();
    let groups = grouped(&bill, "tenant");
    for statement in &bill.tenants {
        let row = groups.rows[&vec![statement.tenant.id.to_string()]];
        assert_eq!((row.amount, row.held), (statement.totals.amount, statement.totals.quantity));
    }
    // Of vision's use of the whole H100, 300 h at 3.50 were vision's namespace and 180 h at 3.36 vision-dev's.
    let vision = TenantId::parse("vision").expect("an id");
    let dims = by("namespace,model,kind");
    let own = group(&bill, &usage(), &Grouping { by: &dims, only: Some(&vision), org: Org::AsWas });
    let amount = |values: [&str; 3]| own.rows[&values.map(String::from).to_vec()].amount;
    assert_eq!(amount(["vision-dev", "H100 80GB HBM3", "usage"]), Amount(60_480));
    assert_eq!(amount(["vision", "H100 80GB HBM3", "usage"]), Amount(105_000 + 2_400));
    assert_eq!(amount(["-", "-", "credit"]), Amount(-1_400));
    assert_eq!(
        own.total().amount,
        bill.tenants.iter().find(|s| s.tenant.id == vision).expect("a statement").totals.amount
    );
    // Unknown use is not waste.
    let a100 = own.rows[&["vision", "A100-SXM4-80GB", "usage"].map(String::from).to_vec()];
    assert_eq!((a100.busy.0, a100.not_busy.0, a100.unknown), (0, 0, a100.held));
}

#[test]
fn as_is_sorts_posted_amounts_into_the_organisation_of_today() {
    let bill = closed_bill();
    let text = worked::TENANTS.replace("\"vision*\"", "\"vision\"");
    let today = Tenants::parse("tenants.toml", &text, period().zone()).expect("tenants");
    let org = Org::AsIs { tenants: &today, at_ms: period().window().end_ms };
    let dims = by("tenant");
    let groups = group(&bill, &usage(), &Grouping { by: &dims, only: None, org });
    assert_eq!(groups.total().amount, bill.fleet.amount, "what was posted is posted");
    let was = grouped(&bill, "tenant");
    let vision = vec!["vision".to_owned()];
    assert_eq!(was.rows[&vision].amount - groups.rows[&vision].amount, Amount(60_480), "vision-dev has left");
}

#[test]
fn usage_that_is_not_the_bills_is_refused() {
    let (usage, tenants, prices) = (usage(), tenants(), prices());
    let rules = Rules { tenants: &tenants, prices: &prices };
    let usd = Currency::parse("USD").expect("a currency");
    let rated = rate(&usage, &devices(), &owners(), rules, &usd).expect("rates");
    let bill = prepare(&context(Mode::Chargeback), &rated, Vec::new(), &devices(), &tenants);
    let dims = by("tenant");
    let grouping = Grouping { by: &dims, only: None, org: Org::AsWas };
    let mut gathering = Gathering::default();
    usage.iter().skip(1).for_each(|row| gathering.add(row, &owners(), rules, &grouping, "2026-09"));
    assert!(Groups::new(&dims, &usd).add_month(&bill, gathering, rules, &grouping).is_err());
}

#[test]
fn a_word_that_is_no_dimension_is_told_with_those_that_are() {
    let error = "team".parse::<Dimension>().expect_err("no such thing").to_string();
    assert!(error.contains("\"team\"") && error.contains("label:KEY"), "{error}");
    assert!("level:0".parse::<Dimension>().is_err() && "label:".parse::<Dimension>().is_err());
    let shown: Vec<String> = by("tenant,level:2,label:app").iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["tenant", "level:2", "label:app"]);
}
