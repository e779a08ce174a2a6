//! The `clickhouse` crate writes and reads through the front as through a server.

use clickhouse::Row;
use clickhouse::sql::Identifier;
use serde::{Deserialize, Serialize};

use crate::support::TestEngine;

#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
struct Sample {
    id: u128,
    cost: i128,
    at: i64,
    power_mw: Option<u32>,
    owner: String,
    model: String,
}

fn sample(id: u128) -> Sample {
    Sample {
        id,
        cost: -123_456_789_012_345_678_901_234_567_890_i128,
        at: 1_790_000_000_123,
        power_mw: id.is_multiple_of(2).then_some(300_000),
        owner: format!("team '{id}' \u{1f980}\n\t\0"),
        model: "H200".into(),
    }
}

const SAMPLES: &str = "CREATE TABLE samples (id UInt128, cost Decimal(38, 15), at DateTime64(3, 'UTC'), power_mw Nullable(UInt32), \
    owner String, model LowCardinality(String)) ENGINE = MergeTree ORDER BY id";

#[tokio::test]
async fn rows_come_back_as_they_went() {
    let engine = TestEngine::start().await;
    engine.run(SAMPLES).await;
    let rows: Vec<Sample> = (0..5).map(|n| sample(u128::MAX - n)).rev().collect();

    // The crate asks DESCRIBE TABLE first, and sends RowBinaryWithNamesAndTypes.
    let client = engine.client();
    let mut insert = client.insert::<Sample>("samples").await.expect("described");
    for row in &rows {
        insert.write(row).await.expect("written");
    }
    insert.end().await.expect("committed");

    let read: Vec<Sample> =
        client.query("SELECT ?fields FROM samples ORDER BY id").fetch_all().await.expect("read");
    assert_eq!(read, rows);
}

#[derive(Row, Serialize, Deserialize)]
struct Number {
    n: u64,
}

#[tokio::test]
async fn half_a_million_rows_go_in_and_stream_out_once_each() {
    const ROWS: u64 = 500_000;
    let engine = TestEngine::start().await;
    engine.run("CREATE TABLE numbers_of_ours (n UInt64) ENGINE = MergeTree ORDER BY n").await;
    let client = engine.client();
    let mut insert = client.insert::<Number>("numbers_of_ours").await.expect("described");
    for n in 0..ROWS {
        insert.write(&Number { n }).await.expect("written");
    }
    insert.end().await.expect("committed");

    let mut cursor =
        client.query("SELECT ?fields FROM numbers_of_ours ORDER BY n").fetch::<Number>().expect("started");
    let mut expected = 0;
    while let Some(row) = cursor.next().await.expect("a whole stream") {
        assert_eq!(row.n, expected, "each row once, in order");
        expected += 1;
    }
    assert_eq!(expected, ROWS);
}

#[tokio::test]
async fn values_and_names_are_bound_by_the_engine() {
    let engine = TestEngine::start().await;
    engine.run("CREATE TABLE `odd; name` (n UInt64, s String) ENGINE = MergeTree ORDER BY n").await;
    let hostile = "x'); DROP TABLE t; -- \\ \t\n";
    engine
        .client()
        .query("INSERT INTO {table:Identifier} SELECT {n:UInt64}, {s:String}")
        .param("table", "odd; name")
        .param("n", 7_u64)
        .param("s", hostile)
        .execute()
        .await
        .expect("inserted");
    let (n, s): (u64, String) = engine
        .client()
        .query("SELECT n, s FROM {table:Identifier} WHERE s = {s:String}")
        .param("table", "odd; name")
        .param("s", hostile)
        .fetch_one()
        .await
        .expect("found");
    assert_eq!((n, s.as_str()), (7, hostile));
    let counted: u64 = engine
        .client()
        .query("SELECT count() FROM ?")
        .bind(Identifier("odd; name"))
        .fetch_one()
        .await
        .expect("counted");
    assert_eq!(counted, 1);
}

#[tokio::test]
async fn a_long_result_is_one_document_in_every_format() {
    let engine = TestEngine::start().await;
    let body = b"SELECT number AS n, toString(number) AS \"a,b\" FROM numbers(200000) ORDER BY n";
    for (format, header) in [
        ("CSVWithNames", "\"n\",\"a,b\"\n"),
        ("TSVWithNamesAndTypes", "n\ta,b\nUInt64\tString\n"),
        ("JSONCompactEachRowWithNames", "[\"n\", \"a,b\"]\n"),
        ("JSONEachRow", ""),
    ] {
        let answer = engine.post(&format!("default_format={format}"), body);
        assert!(answer.head.contains("transfer-encoding: chunked"), "{format} streams: {}", answer.head);
        let text = answer.text();
        let rows =
            text.strip_prefix(header).unwrap_or_else(|| panic!("{format} starts with {:?}", &text[..40]));
        assert_eq!(rows.lines().count(), 200_000, "{format}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&engine.post("default_format=JSON", body).text()).expect("one document");
    assert_eq!(json["rows"], 200_000);
    let parquet = engine.post("default_format=Parquet", body).body;
    let marks = parquet.windows(4).filter(|window| *window == b"PAR1").count();
    assert_eq!((&parquet[..4], &parquet[parquet.len() - 4..], marks), (&b"PAR1"[..], &b"PAR1"[..], 2));
    let totals = engine
        .post("", b"SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k")
        .text();
    assert_eq!(totals, "0\t5\n1\t5\n\n0\t10\n");
}

#[tokio::test]
async fn what_has_no_stream_answers_all_the_same() {
    let engine = TestEngine::start().await;
    engine.run("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a").await;
    for (statement, start) in [
        ("DESCRIBE TABLE t", "a\tUInt8"),
        ("SHOW TABLES", "t\n"),
        ("EXISTS TABLE t", "1\n"),
        ("EXPLAIN SELECT 1", "Output"),
        ("SELECT a FROM t FORMAT CSVWithNames", "\"a\"\n"),
        ("(SELECT 1) UNION ALL (SELECT 1)", "1\n1\n"),
        ("WITH 2 AS x SELECT x", "2\n"),
    ] {
        let answer = engine.post("", statement.as_bytes());
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        assert!(answer.text().starts_with(start), "{statement}: {}", answer.text());
    }
}

#[tokio::test]
async fn partitions_are_dropped_and_replaced_rows_read_once() {
    let engine = TestEngine::start().await;
    engine
        .run("CREATE TABLE usage (hour UInt32, revision UInt32, v UInt64) ENGINE = ReplacingMergeTree(revision) PARTITION BY hour ORDER BY hour")
        .await;
    for (hour, revision) in [(1, 1), (1, 2), (2, 1), (1, 1)] {
        engine.run(&format!("INSERT INTO usage VALUES ({hour}, {revision}, {})", revision * 10)).await;
    }
    assert_eq!(engine.number("SELECT sum(v) FROM usage FINAL").await, 30);
    engine.run("ALTER TABLE usage DROP PARTITION 1").await;
    assert_eq!(engine.number("SELECT sum(v) FROM usage FINAL").await, 10);
    engine.run("OPTIMIZE TABLE usage FINAL").await;
    assert_eq!(engine.number("SELECT count() FROM usage").await, 1);
}
