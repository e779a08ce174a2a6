//! A service that takes deliveries and remembers every batch's bytes, answering as the test says.

use prost::Message;
use schema::wire::{Batch, DELIVERY_BYTES_MAX, RawDelivery};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A batch as it came: its identity and its bytes.
pub type Came = ((Vec<u8>, u64), Vec<u8>);

/// What came so far, and with which status deliveries are answered.
pub struct Ingest {
    /// Base URL.
    pub url: String,
    came: Arc<Mutex<Vec<Came>>>,
    status: Arc<Mutex<u16>>,
}

impl Ingest {
    /// Listens until the test's process ends.
    pub fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let ingest = Self { url, came: Arc::default(), status: Arc::new(Mutex::new(status)) };
        let (came, status) = (ingest.came.clone(), ingest.status.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A collector that was killed in the middle of a delivery leaves half a request.
                let _ = take(stream, &came, &status);
            }
        });
        ingest
    }

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        *self.status.lock().expect("no panic holds it") = status;
    }

    /// Everything that came, repeated deliveries included.
    pub fn came(&self) -> Vec<Came> {
        self.came.lock().expect("no panic holds it").clone()
    }
}

fn take(mut stream: TcpStream, came: &Mutex<Vec<Came>>, status: &Mutex<u16>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut len = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            len = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; len];
    reader.read_exact(&mut body)?;
    let plain = zstd::bulk::decompress(&body, DELIVERY_BYTES_MAX)?;
    let delivery = RawDelivery::decode(&plain[..]).map_err(std::io::Error::other)?;
    for bytes in delivery.batches {
        let batch = Batch::decode(&bytes[..]).map_err(std::io::Error::other)?;
        came.lock().expect("no panic holds it").push(((batch.incarnation, batch.sequence), bytes));
    }
    let status = *status.lock().expect("no panic holds it");
    let receipt = r#"{"batches":1,"rows":0,"dead_letters":0}"#;
    write!(
        stream,
        "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{receipt}",
        receipt.len()
    )
}
