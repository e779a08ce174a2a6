//! The C interface of libchdb.so, declared here because its package has no header.
//!
//! This module is the only one with `unsafe` in it. What leaves it is safe to use: a connection can't
//! be closed twice, and a second statement can't run on it while a stream is open (that would end the
//! stream with an empty chunk).
#![allow(unsafe_code)] // Foreign functions can't be called without it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

mod session;

pub use session::{Connection, open_connections};

/// Why the library can't be used at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is no shared library for this machine, or one that it needs is missing.
    #[error("could not load the engine library {path}")]
    Open {
        /// The file.
        path: String,
        /// What the loader said.
        #[source]
        source: libloading::Error,
    },
    /// The file is another library, or another version of it.
    #[error("the engine library {path} has no symbol {symbol}: it is not the pinned version")]
    Symbol {
        /// The file.
        path: String,
        /// The missing symbol.
        symbol: &'static str,
        /// What the loader said.
        #[source]
        source: libloading::Error,
    },
}

/// A `chdb_connection`: points to a structure that is the library's own.
type Handle = *mut c_void;
/// A `chdb_result *`.
type ResultHandle = *mut c_void;
/// A `chdb_insert_stream`.
type InsertHandle = *mut c_void;
type Names = *const *const c_char;
type Lengths = *const usize;

type QueryFn = unsafe extern "C" fn(
    Handle,
    *const c_char,
    usize,
    *const c_char,
    usize,
    Names,
    Lengths,
    Names,
    Lengths,
    usize,
) -> *mut c_void;
type ResultFn<T> = unsafe extern "C" fn(ResultHandle) -> T;

/// `chdb_query_analysis_v1`; the library fills as much as `struct_size` says there is room for.
#[repr(C)]
#[derive(Default)]
struct AnalysisV1 {
    struct_size: u32,
    statement_count: u32,
    flags: u32,
    query_class: u32,
}

macro_rules! library {
    ($($field:ident: $symbol:literal as $type:ty,)*) => {
        /// The loaded engine. It is never unloaded: its threads outlive every connection.
        pub struct Library { $($field: $type,)* }

        impl Library {
            /// Loads the library and looks up every symbol we use.
            pub fn load(path: &Path) -> Result<&'static Library, LoadError> {
                let shown = || path.display().to_string();
                // SAFETY: the file is the pinned engine; its initialisers only set up its own state.
                let file = unsafe { libloading::Library::new(path) }
                    .map_err(|source| LoadError::Open { path: shown(), source })?;
                // Leaked on purpose: unloading code under its running threads would crash.
                let file: &'static libloading::Library = Box::leak(Box::new(file));
                $(
                    // SAFETY: the type is the one the pinned version declares for this symbol.
                    let $field = *unsafe { file.get::<$type>(concat!($symbol, "\0").as_bytes()) }
                        .map_err(|source| LoadError::Symbol { path: shown(), symbol: $symbol, source })?;
                )*
                Ok(Box::leak(Box::new(Library { $($field,)* })))
            }
        }
    };
}

library! {
    connect: "chdb_connect" as unsafe extern "C" fn(c_int, *mut *mut c_char) -> *mut Handle,
    close: "chdb_close_conn" as unsafe extern "C" fn(*mut Handle),
    query: "chdb_query_with_params_n" as QueryFn,
    stream: "chdb_stream_query_with_params_n" as QueryFn,
    fetch: "chdb_stream_fetch_result" as unsafe extern "C" fn(Handle, ResultHandle) -> ResultHandle,
    cancel: "chdb_stream_cancel_query" as unsafe extern "C" fn(Handle, ResultHandle),
    insert: "chdb_stream_insert_with_params_n" as QueryFn,
    append: "chdb_stream_append" as unsafe extern "C" fn(InsertHandle, *const c_void, usize) -> c_int,
    done: "chdb_stream_done" as unsafe extern "C" fn(InsertHandle) -> ResultHandle,
    cancel_insert: "chdb_stream_cancel_insert" as unsafe extern "C" fn(InsertHandle),
    insert_error: "chdb_stream_insert_error" as unsafe extern "C" fn(InsertHandle) -> *const c_char,
    destroy_insert: "chdb_destroy_insert_stream" as unsafe extern "C" fn(InsertHandle),
    buffer: "chdb_result_buffer" as ResultFn<*mut c_char>,
    length: "chdb_result_length" as ResultFn<usize>,
    error: "chdb_result_error" as ResultFn<*const c_char>,
    rows: "chdb_result_rows_read" as ResultFn<u64>,
    rows_read: "chdb_result_storage_rows_read" as ResultFn<u64>,
    bytes_read: "chdb_result_storage_bytes_read" as ResultFn<u64>,
    rows_written: "chdb_result_rows_written" as ResultFn<u64>,
    bytes_written: "chdb_result_bytes_written" as ResultFn<u64>,
    destroy: "chdb_destroy_query_result" as unsafe extern "C" fn(ResultHandle),
    classify: "chdb_classify_query_n" as unsafe extern "C" fn(Handle, *const c_char, usize, *const c_char, usize, *mut AnalysisV1) -> c_int,
    signals: "chdb_set_signal_handlers_enabled" as unsafe extern "C" fn(c_int),
    shutdown: "chdb_shutdown" as unsafe extern "C" fn() -> c_int,
}

/// What a statement did, in rows and bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Rows in the result.
    pub result_rows: u64,
    /// Rows read from storage.
    pub read_rows: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Rows written, with those of materialised views.
    pub written_rows: u64,
    /// Bytes written, in memory.
    pub written_bytes: u64,
}

/// What the engine's own parser says of a text (`chdb_query_class`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Leaves no trace.
    ReadOnly,
    /// Changes a database.
    Mutating,
    /// Changes what lies beside the databases: users, global functions, named collections, `system`.
    MutatingGlobal,
    /// Session, server or the world outside: SET, SYSTEM, BACKUP, ATTACH, INTO OUTFILE.
    Control,
    /// Does not parse, or is a kind of statement that the parser can't place.
    Unknown,
}

/// A value bound to `{name:Type}`, in the engine's escaped text form.
pub type Parameters = [(String, String)];

impl Library {
    /// Opens a connection. The first one of the process starts the engine and must name its
    /// `--path=`; later ones must name the same.
    ///
    /// `None` when the engine refused; it prints why on standard error.
    pub fn connect(&'static self, arguments: &[CString]) -> Option<Connection> {
        let mut pointers: Vec<*mut c_char> = arguments.iter().map(|a| a.as_ptr().cast_mut()).collect();
        let count = c_int::try_from(pointers.len()).expect("a handful of arguments");
        // SAFETY: the strings outlive the call, and the library only reads them.
        let handle = unsafe {
            // Signals stay ours: a graceful stop is decided by this process, not by the library.
            (self.signals)(0);
            (self.connect)(count, pointers.as_mut_ptr())
        };
        (!handle.is_null()).then(|| Connection::new(self, handle))
    }

    /// Stops the engine's threads; afterwards nothing can connect. Only without open connections. Whether it did is not
    /// told: the library declines once a table exists, though nothing is open, and leaving then is like a kill, which
    /// loses nothing that was acknowledged.
    pub fn shutdown(&self) {
        // SAFETY: takes no argument and may be called from any thread.
        unsafe { (self.shutdown)() };
    }
}

/// Ends the process at once, without destructors: the library's own crash now and then at exit.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: never returns, touches no memory.
    unsafe { libc::_exit(code) }
}
