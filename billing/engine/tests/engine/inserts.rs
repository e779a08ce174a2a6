//! An insert is whole or it is nothing.

use crate::support::{TestEngine, encoded};

async fn table(engine: &TestEngine) {
    engine.run("CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a").await;
}

#[tokio::test]
async fn a_body_that_is_cut_commits_nothing() {
    let engine = TestEngine::start().await;
    table(&engine).await;
    let query = format!("query={}", encoded("INSERT INTO t FORMAT CSV"));
    let secret = format!("X-ClickHouse-Key: {}\r\n", engine.supervisor.endpoint().secret);

    // Whole rows came, then the connection ended: before the announced length, and before the last chunk.
    let short = engine.send("POST", &query, &format!("{secret}Content-Length: 400\r\n"), b"1,x\n2,y\n");
    let unfinished = engine.send(
        "POST",
        &query,
        &format!("{secret}Transfer-Encoding: chunked\r\n"),
        b"8\r\n1,x\n2,y\n\r\n",
    );
    for answer in [short, unfinished] {
        assert_ne!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(engine.number("SELECT count() FROM t").await, 0);

    let whole = engine.send(
        "POST",
        &query,
        &format!("{secret}Transfer-Encoding: chunked\r\n"),
        b"8\r\n1,x\n2,y\n\r\n0\r\n\r\n",
    );
    assert_eq!(whole.status, 200, "{}", whole.text());
    assert_eq!(engine.number("SELECT count() FROM t").await, 2);
}

#[tokio::test]
async fn an_insert_that_fails_after_a_million_rows_keeps_none() {
    let engine = TestEngine::start().await;
    table(&engine).await;
    let mut body = b"INSERT INTO t FORMAT CSV\n".to_vec();
    body.extend((0..1_200_000).flat_map(|n: u32| format!("{n},x\n").into_bytes()));
    let whole_rows = body.len();
    body.extend_from_slice(b"no number,x\n");

    let answer = engine.post("", &body);
    assert_eq!((answer.status, answer.code()), (400, Some(27)), "{}", answer.text());
    assert_eq!(engine.number("SELECT count() FROM t").await, 0);
    // Not even by settings that would cut it into blocks.
    let answer = engine.post("max_insert_block_size=1000&input_format_parallel_parsing=1", &body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(engine.number("SELECT count() FROM t").await, 0);

    let answer = engine.post("", &body[..whole_rows]);
    assert!(answer.head.contains("\"written_rows\":\"1200000\""), "{}", answer.head);
    assert_eq!(engine.number("SELECT count() FROM t").await, 1_200_000);
}

#[tokio::test]
async fn data_may_follow_the_statement_in_the_url_or_in_the_body() {
    let engine = TestEngine::start().await;
    table(&engine).await;
    let statement = encoded("INSERT INTO t (a, b) FORMAT JSONEachRow");
    for (query, body) in [
        (format!("query={statement}"), "{\"a\":1,\"b\":\"x\"}\n"),
        (String::new(), "INSERT INTO t FORMAT TSV\n2\tselect\n"),
        (String::new(), "INSERT INTO t VALUES (3, 'FORMAT CSV'), (4, '')"),
        (format!("query={}", encoded("INSERT INTO t VALUES")), "(5, 'a'), (6, 'b')"),
        (String::new(), "INSERT INTO t SELECT number + 7, 'q' FROM numbers(3)"),
        (format!("query={}&param_table=t", encoded("INSERT INTO {table:Identifier} FORMAT CSV")), "10,z\n"),
    ] {
        let answer = engine.post(&query, body.as_bytes());
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    }
    assert_eq!(engine.number("SELECT sum(a) FROM t").await, 55);
    assert_eq!(engine.number("SELECT count() FROM t WHERE b = 'select'").await, 1);
}
