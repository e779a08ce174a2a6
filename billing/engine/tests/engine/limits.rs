//! Every queue has an end, and the one who comes too late is told so.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::{TestEngine, encoded};

#[tokio::test]
async fn queries_beyond_the_places_wait_their_turn() {
    let engine = TestEngine::start_with(|config| config.concurrency = 1).await;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(engine.post("", b"SELECT sleep(1)").text(), "0\n"));
        }
    });
    assert!(begun.elapsed() >= Duration::from_secs(2), "one after the other, not at once");
}

#[tokio::test]
async fn a_full_queue_refuses_and_says_when_to_come_back() {
    const RUNNING_AND_WAITING: usize = 1 + 256;
    const TOO_MANY: usize = 20;
    let engine = TestEngine::start_with(|config| config.concurrency = 1).await;
    let endpoint = engine.supervisor.endpoint();
    let address = endpoint.url.trim_start_matches("http://").to_owned();
    let request = format!(
        "POST /?query={} HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Key: {}\r\nContent-Length: 0\r\n\r\n",
        encoded("SELECT sleep(3)"),
        endpoint.secret
    );
    let (sender, answers) = mpsc::channel();
    let mut streams = Vec::new();
    for _ in 0..RUNNING_AND_WAITING + TOO_MANY {
        let mut stream = TcpStream::connect(&address).expect("the engine listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut reader, sender) = (stream.try_clone().expect("cloned"), sender.clone());
        std::thread::spawn(move || {
            let mut head = [0; 1024];
            let length = reader.read(&mut head).unwrap_or(0);
            // Those that are still waiting when the test is over have nobody to tell.
            let _ = sender.send(String::from_utf8_lossy(&head[..length]).to_lowercase());
        });
        streams.push(stream);
    }
    // The refusals come at once; of the others one ends every three seconds, on a slow machine before them.
    let first: Vec<String> = answers.iter().take(TOO_MANY).collect();
    let refused = first.iter().filter(|head| head.starts_with("http/1.1 503")).count();
    assert!(refused >= TOO_MANY / 2, "{refused} of {first:?}");
    let head = first.iter().find(|head| head.starts_with("http/1.1 503")).expect("some were refused");
    assert!(head.contains("retry-after: 1") && head.contains("x-clickhouse-exception-code: 202"), "{head}");
    assert_eq!(engine.send("GET", "/ping", "", b"").text(), "Ok.\n");
    for stream in streams {
        stream.shutdown(std::net::Shutdown::Both).expect("open until now");
    }
}

#[tokio::test]
async fn too_long_a_statement_or_body_is_refused() {
    let engine = TestEngine::start().await;
    let headers =
        format!("X-ClickHouse-Key: {}\r\nContent-Length: 268435457\r\n", engine.supervisor.endpoint().secret);
    let body = engine.send("POST", "", &headers, b"INSERT");
    assert_eq!((body.status, body.code()), (413, Some(307)), "{}", body.text());

    let mut text = b"SELECT 1".to_vec();
    text.resize(17 << 20, b' ');
    let statement = engine.post("", &text);
    assert_eq!((statement.status, statement.code()), (413, Some(307)), "{}", statement.text());
    assert!(statement.text().contains("FORMAT"), "the message says what to do instead");
}
