//! Batches on disk between the tick that made them and the server that has them: bounded, oldest first to go, every
//! loss declared. A record is durable before it is shipped; a segment is deleted only after the cursor beyond it is.

mod cursor;
mod segment;

pub use cursor::Cursor;

use crate::config;
use prost::Message;
use schema::wire::{BATCH_BYTES_MAX, Batch, Loss};
use segment::{Record, Writer};
use std::io;
use std::path::{Path, PathBuf};

/// What a spool can't do.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// A file could not be written, read or made durable.
    #[error("{action} {path}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A batch is larger than the wire allows.
    #[error("a batch of {0} bytes is larger than the wire allows")]
    TooLarge(usize),
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { action, path, source }
}

/// How the spool stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolStats {
    /// Bytes of segments on disk.
    pub bytes: u64,
    /// Segments on disk.
    pub segments: u64,
    /// Batches dropped because the spool was full or couldn't be written.
    pub dropped_batches: u64,
    /// Segments set aside as damaged.
    pub damaged_segments: u64,
    /// The directory doesn't survive a reboot.
    pub volatile: bool,
}

/// Batches that were read to be shipped.
#[derive(Debug)]
pub struct Chunk {
    /// Encoded batches, oldest first.
    pub batches: Vec<Vec<u8>>,
    /// Where reading continues after each of them.
    ends: Vec<Cursor>,
}

impl Chunk {
    /// Where reading continues once the first `count` batches are with the server.
    pub fn end_of(&self, count: usize) -> Cursor {
        self.ends[count - 1]
    }
}

/// The spool of one collector.
pub struct Spool {
    directory: PathBuf,
    bytes_max: u64,
    segment_bytes_max: u64,
    /// Numbers and sizes of segments, oldest first; the last may be open.
    segments: Vec<(u64, u64)>,
    open: Option<Writer>,
    cursor: Cursor,
    losses: Vec<Loss>,
    stats: SpoolStats,
}

/// Magic numbers of file systems that live in memory.
const VOLATILE: [u64; 2] = [0x0102_1994, 0x8584_58f6];

impl Spool {
    /// Opens or makes the spool under the state directory. A tail that was being written when the power went is cut
    /// off; a segment of an earlier run is never written again.
    ///
    /// # Errors
    /// The directory can't be made or read.
    pub fn open(settings: &config::Spool) -> Result<Self, SpoolError> {
        let directory = settings.directory.join("spool");
        make_private(&directory)?;
        let mut numbers = segment::numbers(&directory).map_err(io_error("list", &directory))?;
        numbers.sort_unstable();
        let mut segments = Vec::with_capacity(numbers.len());
        for (at, number) in numbers.iter().enumerate() {
            let path = segment::path(&directory, *number);
            let size = if at + 1 == numbers.len() {
                segment::cut_torn_tail(&path).map_err(io_error("repair", &path))?
            } else {
                std::fs::metadata(&path).map_err(io_error("look at", &path))?.len()
            };
            segments.push((*number, size));
        }
        let cursor = Cursor::load(&directory);
        let volatile = rustix::fs::statfs(&directory).is_ok_and(|fs| VOLATILE.contains(&(fs.f_type as u64)));
        let mut spool = Self {
            directory,
            bytes_max: settings.bytes_max,
            segment_bytes_max: settings.segment_bytes_max,
            segments,
            open: None,
            cursor,
            losses: Vec::new(),
            stats: SpoolStats { volatile, ..SpoolStats::default() },
        };
        spool.delete_consumed();
        Ok(spool)
    }

    /// How it stands.
    pub fn stats(&self) -> SpoolStats {
        SpoolStats {
            bytes: self.segments.iter().map(|(_, size)| size).sum(),
            segments: self.segments.len() as u64,
            ..self.stats
        }
    }

    /// Losses since the last call, to be declared in a batch.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// Makes a batch durable. Where that fails (a full disk) the batch is counted and declared as lost, what is on disk
    /// stays whole, and the next batch is tried again.
    ///
    /// # Errors
    /// The batch isn't in the spool.
    pub fn append(&mut self, batch: &Batch) -> Result<(), SpoolError> {
        let appended = self.try_append(batch);
        if appended.is_err() {
            self.lose(&batch.incarnation, batch.sequence, "spool_full");
        }
        appended
    }

    fn try_append(&mut self, batch: &Batch) -> Result<(), SpoolError> {
        let plain = batch.encode_to_vec();
        if plain.len() > BATCH_BYTES_MAX {
            return Err(SpoolError::TooLarge(plain.len()));
        }
        let record = Record::pack(&batch.incarnation, batch.sequence, &plain)
            .map_err(io_error("compress for", &self.directory))?;
        let full = self.open.as_ref().is_some_and(|open| open.size() + record.len() > self.segment_bytes_max);
        if full {
            self.open = None;
        }
        self.make_room(record.len());
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let number = self
                    .segments
                    .last()
                    .map_or(self.cursor.segment, |(number, _)| *number)
                    .max(self.cursor.segment)
                    + 1;
                let path = segment::path(&self.directory, number);
                let writer = Writer::create(&self.directory, number).map_err(io_error("make", &path))?;
                self.segments.push((number, 0));
                self.open.insert(writer)
            }
        };
        let path = open.path().to_owned();
        let outcome = open.append(&record).map_err(io_error("write to", &path));
        let size = open.size();
        self.segments.last_mut().expect("the open segment is listed").1 = size;
        if outcome.is_err() {
            self.open = None;
        }
        outcome
    }

    /// Oldest first: billing prefers a declared gap in the past to a full disk.
    fn make_room(&mut self, bytes: u64) {
        while self.segments.iter().map(|(_, size)| size).sum::<u64>() + bytes > self.bytes_max
            && self.segments.len() > 1
        {
            let (number, _) = self.segments.remove(0);
            let path = segment::path(&self.directory, number);
            let from = if self.cursor.segment == number { self.cursor.offset } else { 0 };
            let mut reader = segment::Reader::open(&path, from);
            while let Ok(Some(header)) = reader.as_mut().map_or(Ok(None), |r| r.skip()) {
                self.lose(&header.incarnation, header.sequence, "spool_full");
            }
            let _ = std::fs::remove_file(&path);
        }
    }

    fn lose(&mut self, incarnation: &[u8], sequence: u64, reason: &str) {
        self.stats.dropped_batches += 1;
        if let Some(last) = self.losses.last_mut()
            && last.incarnation == incarnation
            && last.reason == reason
            && last.last_sequence + 1 == sequence
        {
            last.last_sequence = sequence;
            return;
        }
        self.losses.push(Loss {
            incarnation: incarnation.to_vec(),
            first_sequence: sequence,
            last_sequence: sequence,
            reason: reason.to_owned(),
        });
    }

    /// Reads on from the cursor, at least one batch if there is one and no more than about `bytes_max`. A segment that
    /// can't be read is set aside and counted, and reading goes on with the next.
    pub fn read(&mut self, bytes_max: usize) -> Chunk {
        let mut chunk = Chunk { batches: Vec::new(), ends: Vec::new() };
        let mut bytes = 0;
        let mut at = self.cursor;
        let from = at.segment;
        let numbers: Vec<u64> =
            self.segments.iter().map(|(number, _)| *number).filter(|number| *number >= from).collect();
        for number in numbers {
            if number > at.segment {
                at = Cursor { segment: number, offset: 0 };
            }
            let path = segment::path(&self.directory, number);
            let mut last = None;
            let outcome = segment::Reader::open(&path, at.offset).and_then(|mut reader| {
                while bytes < bytes_max {
                    let Some((header, plain)) = reader.next()? else { break };
                    bytes += plain.len();
                    at.offset = reader.offset();
                    last = Some(header);
                    chunk.batches.push(plain);
                    chunk.ends.push(at);
                }
                Ok(())
            });
            if outcome.is_err() {
                self.set_aside(number, last.map(|h| (h.incarnation, h.sequence)));
            }
            if bytes >= bytes_max {
                break;
            }
        }
        chunk
    }

    fn set_aside(&mut self, number: u64, last: Option<(Vec<u8>, u64)>) {
        let path = segment::path(&self.directory, number);
        tracing::error!(segment = %path.display(), "a spool segment is damaged and is set aside");
        let _ = std::fs::rename(&path, path.with_extension("damaged"));
        self.segments.retain(|(known, _)| *known != number);
        if self.open.as_ref().is_some_and(|open| open.path() == path) {
            self.open = None;
        }
        self.stats.damaged_segments += 1;
        // What followed the damage is known by the sequence at which the next segment goes on.
        let next = self.segments.iter().find(|(known, _)| *known > number).and_then(|(next, _)| {
            segment::Reader::open(&segment::path(&self.directory, *next), 0).ok()?.skip().ok().flatten()
        });
        if let (Some((incarnation, after)), Some(next)) = (last, next)
            && next.incarnation == incarnation
        {
            (after + 1..next.sequence).for_each(|sequence| self.lose(&incarnation, sequence, "damaged"));
        }
    }

    /// Everything before `cursor` is with the server: the cursor is made durable, then what lies before it is deleted.
    ///
    /// # Errors
    /// The cursor isn't durable; nothing was deleted, and the batches will be sent again.
    pub fn acknowledge(&mut self, cursor: Cursor) -> Result<(), SpoolError> {
        cursor.store(&self.directory).map_err(io_error("write the cursor in", &self.directory))?;
        self.cursor = cursor;
        self.delete_consumed();
        Ok(())
    }

    /// Keeps bytes that the server will never take beside the spool, for the operator.
    pub fn quarantine(&mut self, batch: &[u8]) {
        let path = self.directory.join(format!("refused-{:08x}.batch", crc32c::crc32c(batch)));
        if let Err(error) = std::fs::write(&path, batch) {
            tracing::error!(%error, "a refused batch could not be kept");
        }
    }

    fn delete_consumed(&mut self) {
        let (cursor, directory) = (self.cursor, self.directory.clone());
        let open = self.open.as_ref().map(|open| open.path().to_owned());
        self.segments.retain(|(number, size)| {
            let path = segment::path(&directory, *number);
            let consumed = *number < cursor.segment || (*number == cursor.segment && cursor.offset >= *size);
            if consumed && open.as_ref() != Some(&path) {
                // A file that is missing already was deleted before a crash.
                let _ = std::fs::remove_file(&path);
                return false;
            }
            true
        });
    }
}

/// A directory that only this user can look into: batches name users and jobs.
pub(crate) fn make_private(directory: &Path) -> Result<(), SpoolError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(io_error("make", directory))
}

#[cfg(test)]
mod tests;
