//! Usage lines of a statement, opened to a row for each device and day: quantities are apportioned, and costs multiplied
//! after.

use super::row::{Account, Category, Device, Head, Of, Row, Sku};
use super::{FocusError, charges};
use crate::bill::DevicePiece;
use crate::charge::Quantity;
use crate::money::{Exact, UnitPrice};
use crate::opened::{self, Part};
use crate::rating::{Line, LinePrice, PlatformLine};
use crate::words;

/// What stands for a price where there is none.
const UNPRICED: &str = "unpriced";

/// The rows of lines, in the order of the lines and of time; what rounding moved comes last of a line.
pub(super) fn rows<'a>(
    head: &'a Head<'a>,
    account: &Account,
    lines: &[Line],
    pieces: &[DevicePiece],
) -> Result<Vec<Row<'a>>, FocusError> {
    let parts = opened::open(lines, pieces).map_err(|wrong| FocusError::Pieces {
        line: format!("{}-L{}", head.number, wrong.line),
        held: wrong.held,
        pieces: wrong.pieces,
    })?;
    let mut parts = parts.iter().peekable();
    let mut rows = Vec::with_capacity(pieces.len() + lines.len());
    for line in lines {
        while let Some(part) = parts.next_if(|part| part.line.number == line.number) {
            rows.push(row(head, account, part));
        }
        let (exact, posted) = (line.exact.unwrap_or(Exact::ZERO), line.amount.unwrap_or_default());
        rows.extend(charges::rounding(
            head,
            account,
            format!("{}-L{}", head.number, line.number),
            exact,
            posted,
        ));
    }
    Ok(rows)
}

fn row<'a>(head: &'a Head<'a>, account: &Account, part: &Part<'_, DevicePiece>) -> Row<'a> {
    let (line, piece) = (part.line, part.piece);
    let key = &line.key;
    let quantity = Quantity { nano: part.nano, unit: line.quantity.unit };
    let profile = Some(key.profile.clone()).filter(|profile| !profile.is_empty());
    let sku = sku(&key.model, profile.as_deref(), &key.price, quantity);
    Row {
        head,
        account: account.clone(),
        tenant: account.id.clone(),
        category: Category::Usage,
        kind: "usage",
        what: words::line_what(key),
        when: piece.segment,
        billed: Exact::times(quantity, sku.contracted),
        line: format!("{}-L{}", head.number, line.number),
        sku: Some(sku),
        consumed: Some(Quantity::gpu_hours(part.held)),
        device: Some(Device {
            cluster: piece.cluster.clone(),
            node: piece.node.clone(),
            uuid: piece.device.clone(),
        }),
        of: Some(Of { model: key.model.clone(), profile, sharing: Some(words::sharing(key.sharing)) }),
        split: None,
        corrects: None,
        price_state: state(&key.price),
    }
}

/// What nobody held: a row for one of the platform's lines, and what rounding it moved.
pub(super) fn platform_rows<'a>(head: &'a Head<'a>, account: &Account, line: &PlatformLine) -> Vec<Row<'a>> {
    let number = format!("{}-P{}", head.number, line.number);
    let (exact, posted) = (line.exact.unwrap_or(Exact::ZERO), line.amount.unwrap_or_default());
    let moved = charges::rounding(head, account, number, exact, posted);
    [platform_row(head, account, line)].into_iter().chain(moved).collect()
}

fn platform_row<'a>(head: &'a Head<'a>, account: &Account, line: &PlatformLine) -> Row<'a> {
    let quantity = Quantity::gpu_hours(line.quantity);
    let sku = sku(&line.model, None, &line.price, quantity);
    Row {
        head,
        account: account.clone(),
        tenant: account.id.clone(),
        category: Category::Usage,
        kind: line.kind.word(),
        what: format!("{} {}", words::short_model(&line.model), line.kind.word()),
        when: head.context.period.window(),
        billed: Exact::times(quantity, sku.contracted),
        line: format!("{}-P{}", head.number, line.number),
        sku: Some(sku),
        consumed: Some(quantity),
        device: None,
        of: Some(Of { model: line.model.clone(), profile: None, sharing: None }),
        split: None,
        corrects: None,
        price_state: state(&line.price),
    }
}

fn state(price: &LinePrice) -> &'static str {
    match price {
        LinePrice::Priced(_) => "priced",
        LinePrice::Unpriced(_) => UNPRICED,
    }
}

/// Device time of a model or profile. A price of none is told by its name and by `x_PriceState`: FOCUS knows no charge of
/// unknown cost.
fn sku(model: &str, profile: Option<&str>, price: &LinePrice, quantity: Quantity) -> Sku {
    let mig = profile.map(|profile| format!(".mig-{profile}")).unwrap_or_default();
    let id = format!("gpu.{}{mig}", words::short_model(model).to_lowercase().replace(' ', "-"));
    let mut details = serde_json::json!({ "x_GpuModel": model });
    if let Some(profile) = profile {
        details["x_MigProfile"] = profile.into();
    }
    let (entry, tier) = price.rate().map_or((UNPRICED, 0), |rate| (rate.entry.as_str(), rate.tier));
    let of_tier = if tier == 0 { String::new() } else { format!("#{}", tier + 1) };
    Sku {
        price_id: format!("{entry}:{id}{of_tier}"),
        id,
        details: details.to_string(),
        list: price.rate().map_or(UnitPrice(0), |rate| rate.list),
        contracted: price.rate().map_or(UnitPrice(0), |rate| rate.price),
        quantity,
    }
}
