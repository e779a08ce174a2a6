//! What the port refuses: strangers, and statements that reach outside the data directory.

use crate::support::{TestEngine, encoded};

#[tokio::test]
async fn only_the_secret_opens_and_a_ping_needs_none() {
    let engine = TestEngine::start().await;
    assert_eq!(engine.send("GET", "/ping", "", b"").text(), "Ok.\n");
    assert_eq!(engine.send("GET", "/elsewhere", "", b"").status, 404);

    let query = format!("query={}", encoded("SELECT 1"));
    let missing = engine.send("GET", &query, "", b"");
    assert_eq!((missing.status, missing.code()), (401, Some(194)), "{}", missing.text());
    assert!(missing.text().contains("engine.json"), "the message says where the secret is");
    for wrong in [
        "X-ClickHouse-Key: guess\r\n",
        "X-ClickHouse-User: default\r\nX-ClickHouse-Key: \r\n",
        "Authorization: Basic ZGVmYXVsdDpndWVzcw==\r\n",
    ] {
        let refused = engine.send("GET", &query, wrong, b"");
        assert_eq!((refused.status, refused.code()), (403, Some(516)), "{}", refused.text());
    }
    let right = format!("user=default&password={}&{query}", engine.supervisor.endpoint().secret);
    assert_eq!(engine.send("GET", &right, "", b"").text(), "1\n");
    let error =
        engine.client().with_password("guess").query("SELECT 1").execute().await.expect_err("a wrong secret");
    assert!(error.to_string().contains("AUTHENTICATION_FAILED"), "{error}");
}

#[tokio::test]
async fn nothing_reads_or_writes_outside_the_data_directory() {
    const MARK: &str = "Outside4711";
    let engine = TestEngine::start().await;
    let outside = tempfile::tempdir().expect("a directory");
    let secret = outside.path().join("secret.csv");
    std::fs::write(&secret, MARK).expect("written");
    let (path, target) = (secret.display().to_string(), outside.path().join("written").display().to_string());

    let statements = [
        format!("SELECT file('{path}')"),
        format!("SELECT \"file\"('{path}')"),
        format!("SELECT arrayMap(file, ['{path}'])"),
        format!("SELECT * APPLY file FROM (SELECT '{path}' AS x)"),
        format!("SELECT * FROM file('{path}')"),
        format!("SELECT * FROM '{path}'"),
        format!("SELECT * FROM `{path}`"),
        format!("SELECT * FROM default.`{path}`"),
        "SELECT * FROM {path:Identifier}".to_owned(),
        format!("SELECT arrayMap({{function:Identifier}}, ['{path}'])"),
        format!(
            "SELECT * FROM merge('default', '.*') UNION ALL SELECT * FROM filesystem('{}')",
            outside.path().display()
        ),
        format!("SELECT * FROM eval('SELECT file(''{path}'')')"),
        format!("SELECT 1 INTO OUTFILE '{target}'"),
        format!("INSERT INTO FUNCTION file('{target}', 'CSV', 'a UInt8') SELECT 1"),
        format!("INSERT INTO TABLE FUNCTION file('{target}', 'CSV', 'a UInt8') FORMAT CSV\n1"),
        format!("INSERT INTO t FROM INFILE '{path}' FORMAT CSV"),
        format!("CREATE TABLE f (a String) ENGINE = File(CSV, '{path}')"),
        format!("CREATE DATABASE f ENGINE = Filesystem('{}')", outside.path().display()),
        format!(
            "CREATE DICTIONARY f (a String) PRIMARY KEY a SOURCE(FILE(path '{path}' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)"
        ),
        format!("CREATE VIEW f AS SELECT file('{path}')"),
        format!("ATTACH TABLE f FROM '{}' (a UInt8) ENGINE = MergeTree ORDER BY a", outside.path().display()),
        format!("BACKUP DATABASE default TO File('{target}')"),
        format!("SELECT 1 FORMAT Template SETTINGS format_template_row = '{path}'"),
        format!(
            "CREATE TABLE f (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '{target}/')"
        ),
        "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a UInt8')".to_owned(),
        "SELECT * FROM remote('127.0.0.1:1', system.one)".to_owned(),
        "SELECT * FROM s3('http://127.0.0.1:1/b/k', CSV, 'a UInt8')".to_owned(),
        "SELECT * FROM executable('id', CSV, 'a String')".to_owned(),
        "CREATE TABLE f (a UInt8) ENGINE = URL('http://127.0.0.1:1/', CSV)".to_owned(),
        "CREATE FUNCTION f AS x -> x".to_owned(),
        "CREATE USER u".to_owned(),
        "CREATE NAMED COLLECTION c AS url = 'http://127.0.0.1:1/'".to_owned(),
        "SYSTEM SHUTDOWN".to_owned(),
        "SYSTEM RELOAD CONFIG".to_owned(),
    ];
    for statement in &statements {
        let answer =
            engine.post(&format!("param_function=file&param_path={}", encoded(&path)), statement.as_bytes());
        assert_ne!(answer.status, 200, "{statement}: {}", answer.text());
        assert!(answer.code().is_some(), "{statement} is refused with a code");
        assert!(!answer.text().contains(MARK), "{statement} shows the file: {}", answer.text());
    }
    let setting = engine.post(&format!("format_template_row={}", encoded(&path)), b"SELECT 1");
    assert_eq!(setting.code(), Some(497), "{}", setting.text());
    assert_eq!(std::fs::read_dir(outside.path()).expect("readable").count(), 1, "nothing was written");
    assert_eq!(engine.supervisor.restarts(), 0, "nothing ended the engine");
    assert_eq!(engine.number("SELECT count() FROM system.tables WHERE database = 'default'").await, 0);
}

#[tokio::test]
async fn a_backup_stays_in_the_data_directory() {
    let engine = TestEngine::start().await;
    engine.run("CREATE DATABASE kept").await;
    engine.run("CREATE TABLE kept.t (a UInt8) ENGINE = MergeTree ORDER BY a").await;
    engine.run("INSERT INTO kept.t VALUES (1), (2)").await;
    engine.run("BACKUP DATABASE kept TO File('day-1')").await;
    assert!(engine.directory.path().join("backups/day-1").exists());
    engine.run("DROP DATABASE kept SYNC").await;
    engine.run("RESTORE DATABASE kept FROM File('day-1')").await;
    assert_eq!(engine.number("SELECT sum(a) FROM kept.t").await, 3);
}

#[tokio::test]
async fn compression_is_refused_in_words() {
    let engine = TestEngine::start().await;
    for query in ["compress=1", "decompress=1"] {
        let answer = engine.post(query, b"SELECT 1");
        assert_eq!(answer.status, 501, "{}", answer.text());
        assert!(answer.text().contains("turn compression off"), "{}", answer.text());
    }
    let headers = format!(
        "X-ClickHouse-Key: {}\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n",
        engine.supervisor.endpoint().secret
    );
    assert_eq!(engine.send("POST", "", &headers, b"SELECT 1").status, 501);
}
