//! Posted months by some dimensions: each month as it was closed, or as it was last rated, opened into workloads.

use crate::config::Loaded;
use crate::periods;
use crate::report::{self, ReportError};
use crate::store::Reader;
use billing::grouping::{Gathering, Grouping, Groups};
use billing::period::Period;

/// Groups the months of a period, or days that are no whole months as they were last rated.
///
/// # Errors
/// There is no bill of one of them, or its usage isn't the bill's.
pub async fn groups(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
    grouping: &Grouping<'_>,
) -> Result<Groups, ReportError> {
    let parts = period.whole_months().unwrap_or_else(|| vec![period.clone()]);
    let mut groups = Groups::new(grouping.by, &config.currency);
    let mut found = false;
    for part in &parts {
        match add(reader, config, part, grouping, &mut groups).await {
            // A year goes on after a month in which nothing ran.
            Err(ReportError::NoData(_)) if parts.len() > 1 => {}
            other => {
                other?;
                found = true;
            }
        }
    }
    if found { Ok(groups) } else { Err(ReportError::NoData(period.label().into())) }
}

async fn add(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
    grouping: &Grouping<'_>,
    groups: &mut Groups,
) -> Result<(), ReportError> {
    let bill = report::bill(reader, config, period).await?;
    let closing = reader.closing(period.label()).await?;
    let rated = periods::archived(reader, config, period).await.map_err(Box::new)?;
    let (window, changes_ms) = (period.window(), rated.changes_ms());
    let (usage, owners) = match &closing {
        Some(closing) => tokio::try_join!(
            reader.usage_totals_closed(period.label(), closing.attempt, window, &changes_ms),
            reader.owners(window)
        )?,
        None => tokio::try_join!(reader.usage_totals(window, &changes_ms), reader.owners(window))?,
    };
    let mut gathering = Gathering::default();
    for row in &usage {
        gathering.add(row, &owners, rated.rules(), grouping, period.label());
    }
    groups.add_month(&bill, gathering, rated.rules(), grouping).map_err(|wrong| ReportError::Unopened {
        period: period.label().into(),
        line: wrong.line,
        held: wrong.held,
        pieces: wrong.pieces,
    })
}
