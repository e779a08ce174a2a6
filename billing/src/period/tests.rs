use super::*;

fn period(text: &str, zone: &str) -> Period {
    Period::parse(text, parse_zone(zone).expect("a zone")).expect("a period")
}

#[test]
fn a_period_has_the_true_hours_of_its_calendar() {
    for (text, zone, hours, utc) in [
        ("2026-10", "UTC", "744", "2026-10-01T00:00Z..2026-11-01T00:00Z"),
        ("2026-09", "America/Sao_Paulo", "720", "2026-09-01T03:00Z..2026-10-01T03:00Z"),
        // A window west of Greenwich starts later in UTC, never a day earlier.
        ("2026-03", "America/Bogota", "744", "2026-03-01T05:00Z..2026-04-01T05:00Z"),
        ("2026-03", "Europe/Berlin", "743", "2026-02-28T23:00Z..2026-03-31T22:00Z"),
        ("2026-10", "Europe/Berlin", "745", "2026-09-30T22:00Z..2026-10-31T23:00Z"),
        ("2026-03-29..2026-03-30", "Europe/Berlin", "23", "2026-03-28T23:00Z..2026-03-29T22:00Z"),
        ("2026-10-25..2026-10-26", "Europe/Berlin", "25", "2026-10-24T22:00Z..2026-10-25T23:00Z"),
        ("2026-10", "Asia/Kolkata", "744", "2026-09-30T18:30Z..2026-10-31T18:30Z"),
        ("2026-02", "Asia/Kathmandu", "672", "2026-01-31T18:15Z..2026-02-28T18:15Z"),
        // Lord Howe moves its clock by half an hour.
        ("2026-04", "Australia/Lord_Howe", "720.5", "2026-03-31T13:00Z..2026-04-30T13:30Z"),
        ("2026-Q1", "UTC", "2160", "2026-01-01T00:00Z..2026-04-01T00:00Z"),
        ("2026-Q4", "UTC", "2208", "2026-10-01T00:00Z..2027-01-01T00:00Z"),
        ("2028", "UTC", "8784", "2028-01-01T00:00Z..2029-01-01T00:00Z"),
        ("2026", "Europe/Berlin", "8760", "2025-12-31T23:00Z..2026-12-31T23:00Z"),
        ("2099-12", "UTC", "744", "2099-12-01T00:00Z..2100-01-01T00:00Z"),
        // Cairo moves its clock at midnight: 24 April 2026 starts at 01:00.
        ("2026-04-24..2026-04-25", "Africa/Cairo", "23", "2026-04-23T22:00Z..2026-04-24T21:00Z"),
    ] {
        let period = period(text, zone);
        assert_eq!((period.hours().as_str(), period.utc_bounds().as_str()), (hours, utc), "{text} in {zone}");
    }
}

#[test]
fn what_is_not_a_period_is_refused_with_the_forms() {
    for (text, part) in [
        ("", "write a month 2026-10"),
        ("october", "write a month 2026-10"),
        ("2026-13", "write a month 2026-10"),
        ("2026-1", "write a month 2026-10"),
        ("2026-Q5", "write a month 2026-10"),
        ("26-10", "write a month 2026-10"),
        ("2026-10-01", "write a month 2026-10"),
        ("2026-10-01..", "write a month 2026-10"),
        ("2026-02-30..2026-03-01", "write a month 2026-10"),
        ("2026-10-02..2026-10-02", "second day must be after"),
        ("2026-10-03..2026-10-02", "second day must be after"),
        ("1999", "check the year"),
        ("2099-12-31..2101-01-01", "check the year"),
        ("+026-10", "write a month 2026-10"),
    ] {
        let error = Period::parse(text, Tz::UTC).expect_err(text).to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
    assert!(parse_zone("CEST").expect_err("no zone").to_string().contains("IANA"));
}

#[test]
fn every_local_midnight_inside_is_a_cut() {
    let october = period("2026-10", "Europe/Berlin");
    let midnights = october.midnights_ms();
    assert_eq!(midnights.len(), 30);
    let gaps: Vec<i64> = midnights.windows(2).map(|w| (w[1] - w[0]) / HOUR_MS).collect();
    assert_eq!(gaps.iter().filter(|h| **h == 25).count(), 1);
    assert_eq!(gaps.iter().filter(|h| **h == 24).count(), 28);
    // In zones at :30 a midnight lies inside a UTC hour.
    let day = period("2026-10-01..2026-10-03", "Asia/Kolkata");
    assert_eq!(day.midnights_ms()[0] % HOUR_MS, HOUR_MS / 2);
    assert_eq!(day.days(), 2);
}

#[test]
fn samoa_had_no_30_december_2011() {
    let december = period("2011-12", "Pacific/Apia");
    assert_eq!(december.hours(), "720");
    assert_eq!(december.midnights_ms().len(), 29);
}

#[test]
fn months_tile_a_year_and_an_instant_knows_its_month() {
    let zone = "America/Santiago";
    let year = period("2026", zone).window();
    let months: Vec<Window> = (1..=12).map(|m| period(&format!("2026-{m:02}"), zone).window()).collect();
    assert_eq!(months[0].start_ms, year.start_ms);
    assert_eq!(months[11].end_ms, year.end_ms);
    assert!(months.windows(2).all(|w| w[0].end_ms == w[1].start_ms));
    let zone = parse_zone(zone).expect("a zone");
    assert_eq!(Period::month_of(months[5].start_ms, zone).expect("in range").label(), "2026-06");
    assert_eq!(Period::month_of(months[5].start_ms - 1, zone).expect("in range").label(), "2026-05");
}

#[test]
fn days_are_whole_and_tile_whatever_window_asks_for_them() {
    let zone = Tz::Europe__Berlin;
    // The clocks go back on 25 October 2026.
    let at = |text: &str| crate::instant::parse(text, zone).expect("an instant");
    let asked = Window::new(at("2026-10-24T13:00"), at("2026-10-26T00:15"));
    let days = days_of(asked, zone);
    let hours: Vec<i64> = days.iter().map(|d| d.len_ms() / HOUR_MS).collect();
    assert_eq!(hours, [24, 25, 24]);
    assert_eq!((days[0].start_ms, days[2].end_ms), (at("2026-10-24"), at("2026-10-27")));
    assert!(days.windows(2).all(|pair| pair[0].end_ms == pair[1].start_ms));
    assert_eq!(days_of(Window::new(at("2026-10-25"), at("2026-10-26")), zone).len(), 1);
}
