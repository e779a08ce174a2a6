//! A segment file: records one after the other, each with its length, a checksum and the batch's identity.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length (4), CRC32C of what follows it (4), incarnation (16), sequence (8).
const HEADER_LEN: usize = 32;

/// A record longer than this is damage: batches are at most 4 MiB before compression.
const PAYLOAD_MAX: usize = 8 << 20;

/// A day of batches is compressed in a second at this level.
const ZSTD_LEVEL: i32 = 3;

/// A record's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub incarnation: Vec<u8>,
    pub sequence: u64,
}

/// A record as it is written.
pub(super) struct Record(Vec<u8>);

impl Record {
    pub fn pack(incarnation: &[u8], sequence: u64, plain: &[u8]) -> io::Result<Self> {
        let payload = zstd::bulk::compress(plain, ZSTD_LEVEL)?;
        let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len());
        bytes.extend_from_slice(&u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let mut id = [0; 16];
        id[..incarnation.len().min(16)].copy_from_slice(&incarnation[..incarnation.len().min(16)]);
        bytes.extend_from_slice(&id);
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&payload);
        let crc = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        Ok(Self(bytes))
    }

    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

pub(super) fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:020}.seg"))
}

/// Numbers of the segments in a directory.
pub(super) fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|n| n.strip_suffix(".seg")?.parse::<u64>().ok()));
    }
    Ok(numbers)
}

/// The segment that is written.
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    size: u64,
}

impl Writer {
    pub fn create(directory: &Path, number: u64) -> io::Result<Self> {
        let path = path(directory, number);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        File::open(directory)?.sync_all()?;
        Ok(Self { file, path, size: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes a record and waits until it is durable; a record of which only a part fits is taken back.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let outcome = self.file.write_all(&record.0).and_then(|()| self.file.sync_data());
        if outcome.is_err() {
            self.file.set_len(self.size)?;
            self.file.seek(SeekFrom::Start(self.size))?;
        } else {
            self.size += record.len();
        }
        outcome
    }
}

/// Reads records in order.
pub(super) struct Reader {
    file: BufReader<File>,
    offset: u64,
}

impl Reader {
    pub fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { file, offset })
    }

    /// Where the next record starts.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn raw(&mut self) -> io::Result<Option<(Header, Vec<u8>)>> {
        let mut header = [0; HEADER_LEN];
        if self.file.fill_buf_is_empty()? {
            return Ok(None);
        }
        self.file.read_exact(&mut header)?;
        let four =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (len, crc) = (four(0) as usize, four(4));
        if len > PAYLOAD_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut payload = vec![0; len];
        self.file.read_exact(&mut payload)?;
        if crc32c::crc32c_append(crc32c::crc32c(&header[8..]), &payload) != crc {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.offset += (HEADER_LEN + len) as u64;
        let sequence = u64::from_le_bytes(header[24..32].try_into().expect("eight bytes"));
        Ok(Some((Header { incarnation: header[8..24].to_vec(), sequence }, payload)))
    }

    /// The next record's identity; `None` at the end.
    pub fn skip(&mut self) -> io::Result<Option<Header>> {
        Ok(self.raw()?.map(|(header, _)| header))
    }

    /// The next record with its batch as encoded; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<(Header, Vec<u8>)>> {
        let Some((header, payload)) = self.raw()? else { return Ok(None) };
        let plain = zstd::bulk::decompress(&payload, schema::wire::BATCH_BYTES_MAX)?;
        Ok(Some((header, plain)))
    }
}

trait FillBuf {
    fn fill_buf_is_empty(&mut self) -> io::Result<bool>;
}

impl FillBuf for BufReader<File> {
    fn fill_buf_is_empty(&mut self) -> io::Result<bool> {
        Ok(std::io::BufRead::fill_buf(self)?.is_empty())
    }
}

/// Cuts a segment after its last whole record; its size then.
pub(super) fn cut_torn_tail(path: &Path) -> io::Result<u64> {
    let mut reader = Reader::open(path, 0)?;
    while let Ok(Some(_)) = reader.skip() {}
    let good = reader.offset();
    let file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.len() > good {
        file.set_len(good)?;
        file.sync_all()?;
    }
    Ok(good)
}
