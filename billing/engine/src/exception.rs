//! An error as ClickHouse words it: `Code: 60. DB::Exception: ... (UNKNOWN_TABLE)`.
//!
//! Clients match on the code, in the header and in the text, so ours look the same as the engine's.

/// A code of ClickHouse's list and the message with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Exception {
    /// ClickHouse's number of the error.
    pub code: u32,
    /// The whole text, from `Code:` on.
    pub message: String,
}

/// The codes that this front raises by itself, with ClickHouse's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A query that isn't one statement.
    SyntaxError,
    /// A table function, format or statement that reaches outside.
    AccessDenied,
    /// A wrong secret.
    AuthenticationFailed,
    /// A missing secret.
    RequiredPassword,
    /// A request this front can't read.
    BadArguments,
    /// A body that ended before its length.
    CannotReadAllData,
    /// A feature of the HTTP interface that this front doesn't have.
    NotImplemented,
    /// A change by GET.
    Readonly,
    /// A body over the limit.
    TooLarge,
    /// A full queue.
    TooManyQueries,
    /// A format that isn't offered.
    UnknownFormat,
    /// The engine opened no session.
    EngineUnavailable,
    /// The client took too long.
    Timeout,
}

impl Code {
    const fn parts(self) -> (u32, &'static str) {
        match self {
            Code::CannotReadAllData => (33, "CANNOT_READ_ALL_DATA"),
            Code::BadArguments => (36, "BAD_ARGUMENTS"),
            Code::NotImplemented => (48, "NOT_IMPLEMENTED"),
            Code::SyntaxError => (62, "SYNTAX_ERROR"),
            Code::UnknownFormat => (73, "UNKNOWN_FORMAT"),
            Code::Timeout => (159, "TIMEOUT_EXCEEDED"),
            Code::Readonly => (164, "READONLY"),
            Code::RequiredPassword => (194, "REQUIRED_PASSWORD"),
            Code::TooManyQueries => (202, "TOO_MANY_SIMULTANEOUS_QUERIES"),
            Code::TooLarge => (307, "TOO_MANY_BYTES"),
            Code::AccessDenied => (497, "ACCESS_DENIED"),
            Code::AuthenticationFailed => (516, "AUTHENTICATION_FAILED"),
            Code::EngineUnavailable => (1002, "UNKNOWN_EXCEPTION"),
        }
    }
}

impl Exception {
    /// One of this front's own.
    pub fn new(code: Code, text: impl std::fmt::Display) -> Self {
        let (number, name) = code.parts();
        Exception { code: number, message: format!("Code: {number}. DB::Exception: {text}. ({name})") }
    }

    /// One that the engine reported.
    pub fn from_engine(message: String) -> Self {
        let code = message
            .strip_prefix("Code: ")
            .and_then(|rest| rest.split('.').next())
            .and_then(|digits| digits.parse().ok());
        match code {
            Some(code) => Exception { code, message },
            None => Exception::new(Code::EngineUnavailable, message),
        }
    }

    /// The HTTP status that ClickHouse's own interface gives this code.
    pub fn status(&self) -> u16 {
        match self.code {
            26 | 27 | 33 | 36 | 38 | 41 | 43 | 53 | 62 | 69 | 70 | 72 | 117 | 131 | 457 => 400,
            46 | 47 | 50 | 56 | 60 | 63 | 73 | 81 | 115 | 336 => 404,
            159 => 408,
            194 => 401,
            164 | 192 | 193 | 497 | 516 => 403,
            202 => 503,
            307 => 413,
            48 => 501,
            _ => 500,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_read_from_the_engines_text() {
        let exception = Exception::from_engine(
            "Code: 60. DB::Exception: Table default.t does not exist. (UNKNOWN_TABLE)".into(),
        );
        assert_eq!((exception.code, exception.status()), (60, 404));
        assert_eq!(Exception::from_engine("std::bad_alloc".into()).code, 1002);
    }

    #[test]
    fn our_own_errors_read_like_the_engines() {
        let exception = Exception::new(Code::SyntaxError, "Empty query");
        assert_eq!(exception.to_string(), "Code: 62. DB::Exception: Empty query. (SYNTAX_ERROR)");
    }
}
