//! The shipper against a small server of its own: retries carry the same bytes, and what is refused is set aside.

use collector::config;
use collector::shipper::{Enrolment, Shipper, ShipperStats, deliver};
use collector::spool::Spool;
use prost::Message;
use schema::wire::{Batch, DELIVERY_BYTES_MAX, Delivery};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What came: path, authorization, sequences of the delivery.
type Seen = Arc<Mutex<Vec<(String, String, Vec<u64>)>>>;

/// Answers each request by what `answer` says of its number and sequences.
fn server(answer: impl Fn(usize, &[u64]) -> (u16, &'static str) + Send + 'static) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("address"));
    let seen = Seen::default();
    let record = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("connection");
            let mut bytes = Vec::new();
            let head_end = loop {
                let mut buffer = [0; 4096];
                let n = stream.read(&mut buffer).expect("request");
                if n == 0 {
                    break 0;
                }
                bytes.extend_from_slice(&buffer[..n]);
                if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                    break at + 4;
                }
            };
            let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
            let header = |name: &str| {
                head.lines().find_map(|l| {
                    l.to_lowercase()
                        .strip_prefix(&format!("{name}: "))
                        .map(|_| l[name.len() + 2..].to_owned())
                })
            };
            let len: usize = header("content-length").map_or(0, |l| l.parse().expect("length"));
            let mut body = bytes[head_end..].to_vec();
            while body.len() < len {
                let mut buffer = vec![0; len - body.len()];
                let n = stream.read(&mut buffer).expect("body");
                body.extend_from_slice(&buffer[..n]);
            }
            let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let sequences: Vec<u64> = zstd::bulk::decompress(&body, DELIVERY_BYTES_MAX)
                .ok()
                .and_then(|plain| Delivery::decode(&plain[..]).ok())
                .map(|d| d.batches.iter().map(|b| b.sequence).collect())
                .unwrap_or_default();
            let number = record.lock().expect("lock").len();
            let (status, text) = answer(number, &sequences);
            record.lock().expect("lock").push((path, header("authorization").unwrap_or_default(), sequences));
            let _ = write!(
                stream,
                "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}",
                text.len()
            );
        }
    });
    (url, seen)
}

const RECEIPT: &str = r#"{"batches":1,"rows":0,"dead_letters":0}"#;

fn spool(directory: &Path, batches: u64) -> Arc<Mutex<Spool>> {
    let settings = config::Spool { directory: directory.into(), ..config::Spool::default() };
    let mut spool = Spool::open(&settings).expect("opens");
    for sequence in 0..batches {
        spool.append(&Batch { incarnation: vec![1; 16], sequence, ..Batch::default() }).expect("appends");
    }
    Arc::new(Mutex::new(spool))
}

fn shipper(url: &str, directory: &Path, spool: &Arc<Mutex<Spool>>) -> (Shipper, Arc<Mutex<ShipperStats>>) {
    let stats = Arc::new(Mutex::new(ShipperStats::default()));
    let enrolment = Enrolment {
        url: url.into(),
        credential_file: directory.join("credential"),
        join_token_file: Some(directory.join("token")),
        cluster: "c".into(),
        node: "n".into(),
    };
    (Shipper::new(enrolment, spool.clone(), stats.clone(), 7), stats)
}

#[test]
fn a_failed_delivery_is_sent_again_the_same_until_it_is_durable() {
    let dir = tempfile::tempdir().expect("folder");
    std::fs::write(dir.path().join("credential"), "secret\n").expect("credential");
    let (url, seen) = server(|number, _| if number < 2 { (503, "later") } else { (200, RECEIPT) });
    let spool = spool(dir.path(), 3);
    let (mut shipper, stats) = shipper(&url, dir.path(), &spool);
    assert!(shipper.ship_all() < Duration::from_secs(2));
    assert!(shipper.ship_all() < Duration::from_secs(4));
    shipper.ship_all();
    let seen = seen.lock().expect("lock").clone();
    assert_eq!(seen.iter().map(|s| s.2.clone()).collect::<Vec<_>>(), vec![vec![0, 1, 2]; 3]);
    assert!(seen.iter().all(|s| s.0 == "/api/v1/batches" && s.1 == "Bearer secret"));
    let stats = stats.lock().expect("lock");
    assert_eq!((stats.shipped_batches, stats.failures, stats.failing.clone()), (3, 2, None));
    assert!(spool.lock().expect("lock").read(1 << 20).batches.is_empty());
}

#[test]
fn a_batch_that_is_never_taken_is_found_by_halving_and_set_aside() {
    let dir = tempfile::tempdir().expect("folder");
    std::fs::write(dir.path().join("credential"), "secret").expect("credential");
    let (url, seen) =
        server(|_, sequences| if sequences.contains(&2) { (400, "bad batch") } else { (200, RECEIPT) });
    let spool = spool(dir.path(), 5);
    let (mut shipper, stats) = shipper(&url, dir.path(), &spool);
    shipper.ship_all();
    let stats = stats.lock().expect("lock");
    assert_eq!((stats.shipped_batches, stats.refused_batches), (4, 1));
    assert!(seen.lock().expect("lock").iter().any(|s| s.2 == [2]), "it was tried alone");
    let kept = std::fs::read_dir(dir.path().join("spool"))
        .expect("folder")
        .filter(|e| e.as_ref().expect("entry").file_name().to_string_lossy().starts_with("refused-"));
    assert_eq!(kept.count(), 1);
}

#[test]
fn a_node_enrols_once_and_keeps_its_credential_to_itself() {
    let dir = tempfile::tempdir().expect("folder");
    std::fs::write(dir.path().join("token"), "join").expect("token");
    let (url, seen) =
        server(|number, _| if number == 0 { (200, r#"{"credential":"mine"}"#) } else { (200, RECEIPT) });
    let spool = spool(dir.path(), 1);
    let (mut shipper, _) = shipper(&url, dir.path(), &spool);
    shipper.ship_all();
    let seen = seen.lock().expect("lock").clone();
    assert_eq!(
        seen.iter().map(|s| (s.0.as_str(), s.1.as_str())).collect::<Vec<_>>(),
        [("/api/v1/enrol", ""), ("/api/v1/batches", "Bearer mine"),]
    );
    let mode = std::fs::metadata(dir.path().join("credential")).expect("credential").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn delivering_without_a_spool_halves_what_is_too_large() {
    let (url, seen) = server(|_, sequences| if sequences.len() > 2 { (413, "") } else { (200, RECEIPT) });
    let batches: Vec<Vec<u8>> =
        (0..5).map(|sequence| Batch { sequence, ..Batch::default() }.encode_to_vec()).collect();
    let receipt = deliver(&url, "secret", &batches).expect("delivered");
    assert_eq!(receipt.batches, 3, "three deliveries, each answered by one receipt");
    assert_eq!(
        seen.lock().expect("lock").iter().flat_map(|s| s.2.clone()).skip(5).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
}
