//! The running engine, and one session of it per request.
//!
//! A session is opened and closed with its request (0.11 ms together): USE, SET, parameters and
//! temporary tables would leak into the next request on one that is kept.

use std::ffi::CString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::config::{Layout, MERGE_TREE};
use crate::exception::{Code, Exception};
use crate::ffi::{Connection, Library, open_connections};

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration could not be written.
    #[error("could not prepare the data directory {path}")]
    Prepare {
        /// The databases' directory.
        path: String,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A path with a zero byte.
    #[error("the path {0:?} can't be handed to the engine")]
    Path(String),
    /// The library said no; its reason is on standard error.
    #[error(
        "the engine did not open {0}: its own message is on standard error; the directory may belong to another user or another version"
    )]
    Refused(String),
    /// A setting that must hold does not.
    #[error("the engine runs with {name} = {found} where {expected} was asked for")]
    Setting {
        /// The setting.
        name: String,
        /// What was asked for.
        expected: String,
        /// What the engine says.
        found: String,
    },
    /// The question itself failed.
    #[error("could not read the engine's settings back")]
    Assert(#[source] Exception),
}

/// A longest run of a statement, in seconds, where the request names none: a forgotten query must
/// not hold a place for ever.
const EXECUTION_SECONDS_MAX: &str = "600";

/// The engine of this process.
pub struct Engine {
    library: &'static Library,
    /// What later connections must repeat.
    arguments: Vec<CString>,
    /// The engine lives as long as one connection does, so one is kept, unused.
    keeper: Mutex<Option<Connection>>,
}

impl Engine {
    /// Opens the databases of `layout` with a cap on memory, and checks that what we rely on holds.
    pub fn start(
        library: &'static Library,
        layout: &Layout,
        operator: Option<&Path>,
        memory_bytes: u64,
    ) -> Result<Self, StartError> {
        let store = layout.store();
        layout
            .write(operator, memory_bytes)
            .map_err(|source| StartError::Prepare { path: store.display().to_string(), source })?;
        let argument = |text: String| CString::new(text.clone()).map_err(|_| StartError::Path(text));
        let arguments =
            vec![argument("clickhouse".into())?, argument(format!("--path={}", store.display()))?];
        // The cap goes as an argument: a configuration file that can't be read is silently ignored.
        let mut first = arguments.clone();
        first.push(argument(format!("--max_server_memory_usage={memory_bytes}"))?);
        first.push(argument(format!("--config-file={}", layout.config().display()))?);
        let mut keeper =
            library.connect(&first).ok_or_else(|| StartError::Refused(store.display().to_string()))?;
        assert_settings(&mut keeper, memory_bytes)?;
        Ok(Engine { library, arguments, keeper: Mutex::new(Some(keeper)) })
    }

    /// A fresh session in `database` with these settings; both fail with the engine's own error.
    pub fn session(
        &self,
        database: Option<&str>,
        settings: &[(String, String)],
    ) -> Result<Connection, Exception> {
        let mut connection = self.connect().ok_or_else(|| {
            Exception::new(Code::EngineUnavailable, "The engine opened no session: it is stopping")
        })?;
        if let Some(database) = database {
            let quoted = database.replace('\\', "\\\\").replace('`', "\\`");
            connection.query(format!("USE `{quoted}`").as_bytes(), "Null", &[])?;
        }
        connection.query(set_statement(settings)?.as_bytes(), "Null", &[])?;
        Ok(connection)
    }

    /// A session of the engine that was started. Once the keeper has gone, connecting would start
    /// another one: without our configuration, and so without our grants.
    fn connect(&self) -> Option<Connection> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.as_ref().and_then(|_| self.library.connect(&self.arguments))
    }

    /// Closes the databases. False when a session is still open; then nothing was stopped.
    pub fn stop(&self) -> bool {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stopped = open_connections() == 0;
        if stopped {
            self.library.shutdown();
        }
        stopped
    }
}

/// One SET for all settings, ours first so that the request's win.
fn set_statement(settings: &[(String, String)]) -> Result<String, Exception> {
    // The library turns this on; a server doesn't, and `1 + 1` is then a syntax error there only.
    let mut statement = String::from("SET implicit_select = 0");
    let ours = [("max_execution_time", EXECUTION_SECONDS_MAX)];
    let ours = ours.iter().filter(|(name, _)| settings.iter().all(|(given, _)| given != name));
    for (name, value) in
        ours.copied().chain(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(Exception::new(Code::BadArguments, format!("{name:?} is no name of a setting")));
        }
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        statement.push_str(&format!(", {name} = '{value}'"));
    }
    Ok(statement)
}

/// Reads back what must hold: the cap on memory and the durable settings.
fn assert_settings(connection: &mut Connection, memory_bytes: u64) -> Result<(), StartError> {
    let memory = memory_bytes.to_string();
    let server = std::iter::once(("server_settings", "max_server_memory_usage", memory.as_str()));
    let tables = MERGE_TREE.iter().map(|(name, value)| ("merge_tree_settings", *name, *value));
    for (table, name, expected) in server.chain(tables) {
        let question = format!("SELECT value FROM system.{table} WHERE name = '{name}'");
        let (answer, _) = connection.query(question.as_bytes(), "TSVRaw", &[]).map_err(StartError::Assert)?;
        let found = String::from_utf8_lossy(&answer).trim().to_owned();
        if found != expected {
            return Err(StartError::Setting { name: name.into(), expected: expected.into(), found });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_value_can_not_leave_its_quotes() {
        let statement =
            set_statement(&pairs(&[("max_threads", "1', readonly = '0\\")])).expect("a valid name");
        assert_eq!(
            statement,
            "SET implicit_select = 0, max_execution_time = '600', max_threads = '1\\', readonly = \\'0\\\\'"
        );
        assert!(set_statement(&pairs(&[("a = 1, b", "2")])).is_err());
    }

    #[test]
    fn the_request_may_choose_its_own_limit() {
        let statement = set_statement(&pairs(&[("max_execution_time", "5")])).expect("a valid name");
        assert_eq!(statement, "SET implicit_select = 0, max_execution_time = '5'");
    }
}
