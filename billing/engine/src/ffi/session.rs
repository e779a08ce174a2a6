//! A session of the engine and what runs on it: a query, a stream of chunks, an insert.
//!
//! Each borrows its connection, so that no second statement can run on it meanwhile; results are
//! copied out and destroyed here.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    AnalysisV1, Class, Handle, InsertHandle, Library, Parameters, QueryFn, ResultHandle, Statistics,
};
use crate::exception::Exception;

/// One session of the engine.
pub struct Connection {
    library: &'static Library,
    handle: *mut Handle,
}

/// Connections of this process that are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// How many connections of this process are open.
pub fn open_connections() -> usize {
    OPEN.load(Ordering::SeqCst)
}

// SAFETY: the library allows a connection to be used from any thread, one statement at a time; every
// method takes `&mut self`.
unsafe impl Send for Connection {}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: `handle` came from `connect` and is closed only here.
        unsafe { (self.library.close)(self.handle) }
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Connection {
    /// Takes a live handle that `connect` gave.
    pub(super) fn new(library: &'static Library, handle: *mut Handle) -> Self {
        OPEN.fetch_add(1, Ordering::SeqCst);
        Self { library, handle }
    }

    fn session(&self) -> Handle {
        // SAFETY: `handle` is not null and points to the session until `close`.
        unsafe { *self.handle }
    }

    fn call(&self, function: QueryFn, sql: &[u8], format: &str, parameters: &Parameters) -> *mut c_void {
        let names: Vec<*const c_char> = parameters.iter().map(|(name, _)| name.as_ptr().cast()).collect();
        let name_lengths: Vec<usize> = parameters.iter().map(|(name, _)| name.len()).collect();
        let values: Vec<*const c_char> = parameters.iter().map(|(_, value)| value.as_ptr().cast()).collect();
        let value_lengths: Vec<usize> = parameters.iter().map(|(_, value)| value.len()).collect();
        // SAFETY: every pointer goes with its length and outlives the call, which copies what it keeps.
        unsafe {
            function(
                self.session(),
                sql.as_ptr().cast(),
                sql.len(),
                format.as_ptr().cast(),
                format.len(),
                names.as_ptr(),
                name_lengths.as_ptr(),
                values.as_ptr(),
                value_lengths.as_ptr(),
                parameters.len(),
            )
        }
    }

    /// Runs one statement and returns its whole result.
    pub fn query(
        &mut self,
        sql: &[u8],
        format: &str,
        parameters: &Parameters,
    ) -> Result<(Vec<u8>, Statistics), Exception> {
        let result =
            Outcome { library: self.library, handle: self.call(self.library.query, sql, format, parameters) };
        result.checked().map(|result| (result.bytes(), result.statistics()))
    }

    /// Starts a SELECT whose result is fetched in chunks. Each chunk is a document of its own.
    pub fn stream(
        &mut self,
        sql: &[u8],
        format: &str,
        parameters: &Parameters,
    ) -> Result<Stream<'_>, Exception> {
        let result = Outcome {
            library: self.library,
            handle: self.call(self.library.stream, sql, format, parameters),
        };
        let result = result.checked()?;
        Ok(Stream { connection: self, result, ended: false })
    }

    /// Opens an insert; `sql` has no FORMAT clause and no data.
    pub fn insert(
        &mut self,
        sql: &[u8],
        format: &str,
        parameters: &Parameters,
    ) -> Result<Insert<'_>, Exception> {
        let handle = self.call(self.library.insert, sql, format, parameters);
        let insert = Insert { connection: self, handle, finished: false };
        match insert.error() {
            Some(exception) => Err(exception),
            None => Ok(insert),
        }
    }

    /// Asks the engine's parser what `sql` is, and how many statements.
    pub fn classify(&mut self, sql: &[u8]) -> (Class, u32) {
        let size = u32::try_from(size_of::<AnalysisV1>()).expect("sixteen bytes");
        let mut analysis = AnalysisV1 { struct_size: size, ..AnalysisV1::default() };
        // SAFETY: the text goes with its length; a null database skips a judgement we don't need.
        let state = unsafe {
            (self.library.classify)(
                self.session(),
                sql.as_ptr().cast(),
                sql.len(),
                std::ptr::null(),
                0,
                &mut analysis,
            )
        };
        let class = match analysis.query_class {
            _ if state != 0 => Class::Unknown,
            0 => Class::ReadOnly,
            1 => Class::Mutating,
            2 => Class::MutatingGlobal,
            3 => Class::Control,
            _ => Class::Unknown,
        };
        (class, analysis.statement_count)
    }
}

/// An owned `chdb_result`.
struct Outcome {
    library: &'static Library,
    handle: ResultHandle,
}

impl Drop for Outcome {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library and is destroyed only here; null is allowed.
        unsafe { (self.library.destroy)(self.handle) }
    }
}

/// Copies a C string that may be null.
fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the library's error strings end in a null byte and live as long as their handle.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

impl Outcome {
    fn checked(self) -> Result<Self, Exception> {
        // SAFETY: the handle is live.
        match text(unsafe { (self.library.error)(self.handle) }) {
            Some(message) => Err(Exception::from_engine(message)),
            None => Ok(self),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the buffer holds `length` bytes for as long as the result lives; it is null when empty.
        unsafe {
            let (buffer, length) = ((self.library.buffer)(self.handle), (self.library.length)(self.handle));
            if buffer.is_null() || length == 0 {
                Vec::new()
            } else {
                std::slice::from_raw_parts(buffer.cast(), length).to_vec()
            }
        }
    }

    fn statistics(&self) -> Statistics {
        // SAFETY: the handle is live; these only read counters.
        unsafe {
            Statistics {
                result_rows: (self.library.rows)(self.handle),
                read_rows: (self.library.rows_read)(self.handle),
                read_bytes: (self.library.bytes_read)(self.handle),
                written_rows: (self.library.rows_written)(self.handle),
                written_bytes: (self.library.bytes_written)(self.handle),
            }
        }
    }
}

/// A running SELECT. Dropped before its end, it is cancelled.
pub struct Stream<'c> {
    connection: &'c mut Connection,
    result: Outcome,
    ended: bool,
}

impl Stream<'_> {
    /// The next chunk; `None` at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Exception> {
        let library = self.connection.library;
        // SAFETY: both handles are live, and `&mut self` keeps other statements off the connection.
        let handle = unsafe { (library.fetch)(self.connection.session(), self.result.handle) };
        let chunk = Outcome { library, handle }.checked().inspect_err(|_| self.ended = true)?.bytes();
        self.ended = chunk.is_empty();
        Ok((!self.ended).then_some(chunk))
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // SAFETY: both handles are live.
            unsafe { (self.connection.library.cancel)(self.connection.session(), self.result.handle) }
        }
    }
}

/// An open insert. Dropped before `commit`, it is cancelled.
pub struct Insert<'c> {
    connection: &'c mut Connection,
    handle: InsertHandle,
    finished: bool,
}

impl Insert<'_> {
    fn error(&self) -> Option<Exception> {
        // SAFETY: the handle is live.
        text(unsafe { (self.connection.library.insert_error)(self.handle) }).map(Exception::from_engine)
    }

    /// Hands over data in the insert's format; may wait for the engine.
    pub fn append(&mut self, data: &[u8]) -> Result<(), Exception> {
        // SAFETY: the data goes with its length and is copied.
        let state =
            unsafe { (self.connection.library.append)(self.handle, data.as_ptr().cast(), data.len()) };
        if state == 0 {
            Ok(())
        } else {
            Err(self.error().unwrap_or_else(|| Exception::from_engine("insert refused".into())))
        }
    }

    /// Ends the data and commits. The error of a failed insert may show only in the handle.
    pub fn commit(mut self) -> Result<Statistics, Exception> {
        self.finished = true;
        let library = self.connection.library;
        // SAFETY: the handle is live, and is finished once.
        let handle = unsafe { (library.done)(self.handle) };
        let outcome = Outcome { library, handle }.checked()?;
        match self.error() {
            Some(exception) => Err(exception),
            None => Ok(outcome.statistics()),
        }
    }
}

impl Drop for Insert<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and destroyed only here.
        unsafe {
            if !self.finished {
                (self.connection.library.cancel_insert)(self.handle);
            }
            (self.connection.library.destroy_insert)(self.handle);
        }
    }
}
