//! What can be wrong with the configuration file, in words that name the file, the key and the remedy.

/// Why a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("{file}: the configuration can't be read; give its path with --config")]
    Read {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It isn't what is expected.
    #[error("{file}: {message}; collector.example.toml lists every key")]
    Parse {
        /// The file.
        file: String,
        /// What TOML says, with line and key.
        message: String,
    },
    /// A value contradicts another or the world.
    #[error("{file}: {key}: {problem}; {remedy}")]
    Value {
        /// The file.
        file: String,
        /// Key with its section.
        key: &'static str,
        /// What is wrong.
        problem: String,
        /// What would be right.
        remedy: &'static str,
    },
}
