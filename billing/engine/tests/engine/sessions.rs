//! Nothing of a request is left for the next one; errors say what happened.

use crate::support::{TestEngine, encoded};

#[tokio::test]
async fn nothing_leaks_into_the_next_request() {
    let engine = TestEngine::start().await;
    engine.run("CREATE DATABASE other").await;
    let state = b"SELECT currentDatabase(), getSetting('max_threads') = 7, (SELECT count() FROM system.tables WHERE is_temporary)";

    let answer = engine.post("database=other&max_threads=7&session_id=kept", state);
    assert_eq!(answer.text(), "other\t1\t0\n", "settings hold for their own request");
    for statement in ["SET max_threads = 7", "USE other", "CREATE TEMPORARY TABLE z (a UInt8)"] {
        assert_eq!(engine.post("session_id=kept", statement.as_bytes()).status, 200, "{statement}");
        let answer = engine.post("session_id=kept", state);
        assert_eq!(answer.text(), "default\t0\t0\n", "after {statement}");
    }
    let unbound = engine.post("", b"SELECT {x:UInt8}");
    assert_eq!(
        unbound.code(),
        Some(456),
        "a parameter of the request before is not there: {}",
        unbound.text()
    );
}

#[tokio::test]
async fn errors_carry_the_engines_code_and_text() {
    let engine = TestEngine::start().await;
    for (query, body, status, code) in [
        ("", "SELECT * FROM nowhere", 404, 60),
        ("", "SELECT FROM WHERE", 400, 62),
        ("", "", 400, 62),
        ("", "-- nothing", 400, 62),
        ("", "SELECT 1; SELECT 2", 400, 62),
        ("no_such_setting=1", "SELECT 1", 404, 115),
        ("database=nowhere", "SELECT 1", 404, 81),
        ("", "SELECT 1 FORMAT Nonsense", 404, 73),
        ("", "SELECT throwIf(1)", 500, 395),
        ("", "SELECT number FROM numbers(40000000) FORMAT JSON", 500, 396),
        ("", "INSERT INTO nowhere FORMAT CSV\n1", 404, 60),
        ("max_execution_time=1", "SELECT sum(sipHash64(number)) FROM numbers(100000000000)", 408, 159),
    ] {
        let answer = engine.post(query, body.as_bytes());
        assert_eq!((answer.status, answer.code()), (status, Some(code)), "{body}: {}", answer.text());
        assert!(answer.text().starts_with(&format!("Code: {code}. DB::Exception: ")), "{}", answer.text());
    }
    let error = engine.client().query("SELECT * FROM nowhere").execute().await.expect_err("no such table");
    assert!(error.to_string().contains("UNKNOWN_TABLE"), "{error}");
}

#[tokio::test]
async fn an_error_inside_a_stream_reaches_the_reader() {
    let engine = TestEngine::start().await;
    let client = engine.client();
    let mut cursor = client
        .query("SELECT number + throwIf(number = 700000) AS n FROM numbers(1000000)")
        .fetch::<u64>()
        .expect("started");
    let mut rows = 0;
    let error = loop {
        match cursor.next().await {
            Ok(Some(_)) => rows += 1,
            Ok(None) => panic!("a broken stream ended like a whole one, after {rows} rows"),
            Err(error) => break error,
        }
    };
    assert!(rows > 0, "it did stream");
    assert!(error.to_string().contains("Code: 395"), "{error}");
}

#[tokio::test]
async fn a_get_reads_and_does_not_write() {
    let engine = TestEngine::start().await;
    let secret = format!("X-ClickHouse-Key: {}\r\n", engine.supervisor.endpoint().secret);
    let read = engine.send("GET", &format!("query={}", encoded("SELECT 1")), &secret, b"");
    assert_eq!(read.text(), "1\n");
    let write = engine.send("GET", &format!("query={}", encoded("CREATE DATABASE d")), &secret, b"");
    assert_eq!((write.status, write.code()), (403, Some(164)));
}

#[tokio::test]
async fn a_slow_query_does_not_hold_up_a_ping() {
    let engine = TestEngine::start().await;
    let client = engine.client();
    let slow = tokio::spawn(async move {
        client
            .query("SELECT sleepEachRow(1) FROM numbers(4) SETTINGS max_block_size = 1 FORMAT Null")
            .execute()
            .await
    });
    let running = "SELECT count() FROM system.processes \
                   WHERE query LIKE '%sleepEachRow(1)%' AND query NOT LIKE '%processes%'";
    while engine.number(running).await == 0 && !slow.is_finished() {
        tokio::task::yield_now().await;
    }
    let answer = engine.send("GET", "/ping", "", b"");
    assert_eq!((answer.status, answer.text().as_str()), (200, "Ok.\n"));
    assert!(!slow.is_finished(), "the slow query still runs");
    slow.await.expect("joined").expect("it ends well");
}
