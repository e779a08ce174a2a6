//! The columns of a CostAndUsage file, in the order of their names, and what each row says in them. A column of a version
//! that we support nothing of is there and empty: readers evaluate rules over it.

use super::Version;
use super::row::{Row, Sku, Split};
use super::value::{Kind, Value, cost, price, quantity, text, unit, word};
use crate::money::UnitPrice;

/// A column of CostAndUsage.
pub(super) struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// The one version that has it; `None` for both.
    pub only: Option<Version>,
    pub value: fn(&Row<'_>) -> Value,
}

const fn both(name: &'static str, kind: Kind, value: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind, only: None, value }
}

const fn only(version: Version, name: &'static str, kind: Kind, value: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind, only: Some(version), value }
}

/// Nothing that we support.
fn none(_: &Row<'_>) -> Value {
    Value::Null
}

fn price_of(row: &Row<'_>, of: fn(&Sku) -> UnitPrice) -> Value {
    row.sku.as_ref().map_or(Value::Null, |sku| price(of(sku)))
}

/// The columns of a version.
pub(super) fn of(version: Version) -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| column.only.is_none_or(|only| only == version)).collect()
}

use Kind::{Decimal, Text, Time};
use Version::{V1_2, V1_4};

/// Those of FOCUS, then our own.
const COLUMNS: &[Column] = &[
    only(V1_4, "AllocatedMethodDetails", Text, |r| text(r.split.as_ref().and_then(Split::details))),
    only(V1_4, "AllocatedMethodId", Text, |r| text(r.split.as_ref().map(|s| s.method.into()))),
    only(V1_4, "AllocatedResourceId", Text, |r| text(r.split.as_ref().and_then(Split::receiver))),
    only(V1_4, "AllocatedResourceName", Text, |r| text(r.split.as_ref().and_then(Split::receiver))),
    only(V1_4, "AllocatedTags", Text, |r| text(r.split.as_ref().and_then(Split::tags))),
    both("AvailabilityZone", Text, none),
    both("BilledCost", Decimal, |r| cost(r.billed)),
    both("BillingAccountId", Text, |r| word(&r.head.issuer.account_id)),
    both("BillingAccountName", Text, |r| word(&r.head.issuer.name)),
    both("BillingAccountType", Text, |_| word("Organization")),
    both("BillingCurrency", Text, |r| word(r.head.currency.code())),
    both("BillingPeriodEnd", Time, |r| Value::Time(r.head.context.period.window().end_ms)),
    both("BillingPeriodStart", Time, |r| Value::Time(r.head.context.period.window().start_ms)),
    both("CapacityReservationId", Text, none),
    both("CapacityReservationStatus", Text, none),
    both("ChargeCategory", Text, |r| word(r.category.word())),
    both("ChargeClass", Text, |r| text(r.corrects.is_some().then(|| "Correction".into()))),
    both("ChargeDescription", Text, |r| word(&r.what)),
    both("ChargeFrequency", Text, |r| word(r.frequency())),
    both("ChargePeriodEnd", Time, |r| Value::Time(r.when.end_ms)),
    both("ChargePeriodStart", Time, |r| Value::Time(r.when.start_ms)),
    both("CommitmentDiscountCategory", Text, none),
    both("CommitmentDiscountId", Text, none),
    both("CommitmentDiscountName", Text, none),
    both("CommitmentDiscountQuantity", Decimal, none),
    both("CommitmentDiscountStatus", Text, none),
    both("CommitmentDiscountType", Text, none),
    both("CommitmentDiscountUnit", Text, none),
    only(V1_4, "CommitmentProgramEligibilityDetails", Text, none),
    both("ConsumedQuantity", Decimal, |r| r.consumed.map_or(Value::Null, quantity)),
    both("ConsumedUnit", Text, |r| text(r.consumed.map(|q| unit(q.unit).into()))),
    only(V1_4, "ContractApplied", Text, none),
    both("ContractedCost", Decimal, |r| cost(r.cost_at(|p| p.contracted))),
    both("ContractedUnitPrice", Decimal, |r| price_of(r, |p| p.contracted)),
    both("EffectiveCost", Decimal, |r| cost(r.billed)),
    only(V1_4, "HostProviderName", Text, |r| word(&r.head.issuer.name)),
    only(V1_4, "InvoiceDetailId", Text, |r| text(r.head.is_invoiced().then(|| r.line.clone()))),
    both("InvoiceId", Text, |r| text(r.head.is_invoiced().then(|| r.head.number.into()))),
    both("InvoiceIssuerName", Text, |r| word(&r.head.issuer.name)),
    both("ListCost", Decimal, |r| cost(r.cost_at(|p| p.list))),
    both("ListUnitPrice", Decimal, |r| price_of(r, |p| p.list)),
    both("PricingCategory", Text, |r| text(r.sku.is_some().then(|| "Standard".into()))),
    both("PricingCurrency", Text, |r| word(r.head.currency.code())),
    both("PricingCurrencyContractedUnitPrice", Decimal, |r| price_of(r, |p| p.contracted)),
    both("PricingCurrencyEffectiveCost", Decimal, |r| cost(r.billed)),
    both("PricingCurrencyListUnitPrice", Decimal, |r| price_of(r, |p| p.list)),
    both("PricingQuantity", Decimal, |r| r.sku.as_ref().map_or(Value::Null, |p| quantity(p.quantity))),
    both("PricingUnit", Text, |r| text(r.sku.as_ref().map(|p| unit(p.quantity.unit).into()))),
    only(V1_2, "ProviderName", Text, |r| word(&r.head.issuer.name)),
    only(V1_2, "PublisherName", Text, |r| word(&r.head.issuer.name)),
    both("RegionId", Text, |r| text(r.head.issuer.region.clone())),
    both("RegionName", Text, |r| text(r.head.issuer.region.clone())),
    both("ResourceId", Text, |r| text(r.device.as_ref().map(|d| d.uuid.clone()))),
    both("ResourceName", Text, none),
    both("ResourceType", Text, |r| text(r.device.is_some().then(|| "GPU".into()))),
    both("ServiceCategory", Text, |_| word("Compute")),
    both("ServiceName", Text, |_| word("GPU Compute")),
    only(V1_4, "ServiceProviderName", Text, |r| word(&r.head.issuer.name)),
    both("ServiceSubcategory", Text, |_| word("Other (Compute)")),
    both("SkuId", Text, |r| text(r.sku.as_ref().map(|p| p.id.clone()))),
    both("SkuMeter", Text, |r| text(r.sku.as_ref().map(|p| p.meter().into()))),
    both("SkuPriceDetails", Text, |r| text(r.sku.as_ref().map(|p| p.details.clone()))),
    both("SkuPriceId", Text, |r| text(r.sku.as_ref().map(|p| p.price_id.clone()))),
    both("SubAccountId", Text, |r| word(r.account.id.as_str())),
    both("SubAccountName", Text, |r| word(&r.account.name)),
    both("SubAccountType", Text, |_| word("Tenant")),
    both("Tags", Text, |r| text(r.head.tags())),
    both("x_ChargeKind", Text, |r| word(r.kind)),
    both("x_ClusterId", Text, |r| text(r.device.as_ref().map(|d| d.cluster.clone()))),
    both("x_CorrectsLine", Text, |r| text(r.corrects.clone())),
    both("x_GpuModel", Text, |r| text(r.of.as_ref().map(|of| of.model.clone()))),
    both("x_LedgerRevision", Text, |r| text(Some(r.head.context.revision.to_string()))),
    both("x_MigProfile", Text, |r| text(r.of.as_ref().and_then(|of| of.profile.clone()))),
    both("x_NodeName", Text, |r| text(r.device.as_ref().map(|d| d.node.clone()))),
    both("x_PriceState", Text, |r| word(r.price_state)),
    both("x_RateVersion", Text, |r| text(Some(r.head.context.prices.number.to_string()))),
    both("x_SharingMode", Text, |r| text(r.of.as_ref().and_then(|of| of.sharing.map(Into::into)))),
    both("x_StatementLine", Text, |r| word(&r.line)),
    both("x_StatementStatus", Text, |r| word(crate::words::status(r.head.context.status))),
    both("x_TenantId", Text, |r| word(r.tenant.as_str())),
    both("x_TenantPath", Text, |r| word(r.head.path)),
];
