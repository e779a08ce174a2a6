//! One request: what it asks, whether it may, and its reply.
//!
//! Runs on a thread that may block. The reply's head goes out once it is known whether the
//! statement fails at its start; a large SELECT then streams.

use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::connection::Engine;
use crate::deny;
use crate::exception::{Code, Exception};
use crate::ffi::{Class, Connection, Statistics};
use crate::formats::{Format, Joiner, Shape};
use crate::insert;
use crate::sql::{self, InsertSource, Lexer, Token};

/// Chunks waiting for a slow client; a chunk has about half a mebibyte.
const CHUNKS_WAITING: usize = 4;
/// A client that takes nothing for this long loses its stream: it holds a place of the few.
const CLIENT_STALL: Duration = Duration::from_secs(120);

/// The largest result, before formatting, that is held in one piece: as JSON it is several times that.
const WHOLE_RESULT_BYTES_MAX: &str = "67108864";

/// The longest statement, with values that it holds itself. It is taken apart into words, at several
/// times its size; an insert's data behind a FORMAT clause is not.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// A request, read from HTTP.
#[derive(Debug, Default)]
pub struct Request {
    /// The `query` parameter; the statement, or its beginning.
    pub query: String,
    /// The rest of the statement, or an insert's data.
    pub body: Bytes,
    /// Values for `{name:Type}`.
    pub parameters: Vec<(String, String)>,
    /// Settings for this statement only.
    pub settings: Vec<(String, String)>,
    /// The current database; the engine's default if none.
    pub database: Option<String>,
    /// The format of the result where the statement names none.
    pub default_format: Option<String>,
    /// True for GET, which changes nothing.
    pub read_only: bool,
}

/// What goes back.
#[derive(Debug)]
pub enum Reply {
    /// The whole result.
    Whole { format: Format, body: Bytes, statistics: Statistics },
    /// The first chunks are here, more follow; an exception ends the stream.
    Stream { format: Format, chunks: mpsc::Receiver<Result<Bytes, Exception>> },
}

/// A statement and, for an insert, the data that goes with it.
enum Statement {
    Text(Bytes),
    Insert { sql: Bytes, format: Format, data: Vec<Bytes> },
}

/// Answers `request` through `reply`; returns when the engine is done with it.
pub fn run(
    engine: &Engine,
    request: Request,
    reply: oneshot::Sender<Result<Reply, Exception>>,
    runtime: &tokio::runtime::Handle,
) {
    let mut reply = Some(reply);
    if let Err(exception) = answer(engine, request, &mut reply, runtime)
        && let Some(reply) = reply
    {
        // A client that has gone needs no answer.
        let _ = reply.send(Err(exception));
    }
}

type Sender = Option<oneshot::Sender<Result<Reply, Exception>>>;

fn send(reply: &mut Sender, answer: Reply) {
    if let Some(reply) = reply.take() {
        // A client that has gone needs no answer.
        let _ = reply.send(Ok(answer));
    }
}

fn answer(
    engine: &Engine,
    request: Request,
    reply: &mut Sender,
    runtime: &tokio::runtime::Handle,
) -> Result<(), Exception> {
    for (name, _) in &request.settings {
        deny::check_setting(name)?;
    }
    let default_format = Format::named(request.default_format.as_deref().unwrap_or("TabSeparated"))?;
    let statement = read_statement(&request)?;
    let (Statement::Text(text) | Statement::Insert { sql: text, .. }) = &statement;
    if text.len() > TEXT_BYTES_MAX {
        let limit = format!(
            "The statement is over {TEXT_BYTES_MAX} bytes: send rows as data, with INSERT ... FORMAT"
        );
        return Err(Exception::new(Code::TooLarge, limit));
    }
    let tokens: Vec<Token> = Lexer::new(text).collect();
    let first = tokens
        .iter()
        .find_map(Token::name)
        .ok_or_else(|| Exception::new(Code::SyntaxError, "Empty query"))?;
    deny::check_words(&tokens)?;
    deny::check_parameters(&request.parameters, &tokens)?;

    let format = sql::output_format(&tokens).map_or(Ok(default_format), Format::named)?;
    let streams = can_stream(&tokens, format, &request.settings);
    let settings = match &statement {
        Statement::Insert { .. } => insert::settings(&request.settings),
        Statement::Text(_) if streams => request.settings.clone(),
        Statement::Text(_) => bounded(&request.settings),
    };
    let mut connection = engine.session(request.database.as_deref(), &settings)?;
    let (class, statements) = connection.classify(text);
    deny::check_class(class, statements, &first)?;
    if request.read_only && class != Class::ReadOnly {
        return Err(Exception::new(
            Code::Readonly,
            "Cannot execute query in readonly mode: a GET changes nothing, use POST",
        ));
    }
    match &statement {
        Statement::Insert { sql, format, data } => {
            let statistics = insert::run(&mut connection, sql, format.name, data, &request.parameters)?;
            send(reply, Reply::Whole { format: default_format, body: Bytes::new(), statistics });
            Ok(())
        }
        Statement::Text(text) => {
            if class == Class::ReadOnly && streams {
                stream(&mut connection, text, format, &request.parameters, reply, runtime)
            } else {
                whole(&mut connection, text, format, &request.parameters, reply)
            }
        }
    }
}

/// Puts `query` and body together as the HTTP interface does: the body goes on where `query` ends.
fn read_statement(request: &Request) -> Result<Statement, Exception> {
    let (text, rest) = match request.query.is_empty() {
        true => (request.body.clone(), None),
        false => (Bytes::copy_from_slice(request.query.as_bytes()), Some(request.body.clone())),
    };
    if let Some(InsertSource::Data { format, clause, data }) = sql::insert_source(&text) {
        let data = std::iter::once(text.slice(data..)).chain(rest).filter(|part| !part.is_empty()).collect();
        return Ok(Statement::Insert { sql: text.slice(..clause), format: Format::named(&format)?, data });
    }
    Ok(Statement::Text(match rest {
        Some(rest) if !rest.is_empty() => [text.as_ref(), b"\n", rest.as_ref()].concat().into(),
        _ => text,
    }))
}

/// The request's settings, with a limit on the result where they set none.
fn bounded(given: &[(String, String)]) -> Vec<(String, String)> {
    let mut settings = given.to_vec();
    if given.iter().all(|(name, _)| name != "max_result_bytes") {
        settings.push(("max_result_bytes".to_owned(), WHOLE_RESULT_BYTES_MAX.to_owned()));
    }
    settings
}

/// SELECTs stream, if their chunks can be joined; totals and extremes come as documents of their own.
fn can_stream(tokens: &[Token], format: Format, settings: &[(String, String)]) -> bool {
    let select = tokens
        .iter()
        .find(|token| **token != Token::Symbol(b'('))
        .is_some_and(|t| t.is("select") || t.is("with"));
    let parts = tokens.iter().any(|token| token.is("totals") || token.is("extremes"))
        || settings.iter().any(|(name, _)| name == "extremes");
    select && !parts && format.shape != Shape::Whole
}

fn whole(
    connection: &mut Connection,
    text: &[u8],
    format: Format,
    parameters: &[(String, String)],
    reply: &mut Sender,
) -> Result<(), Exception> {
    let (body, statistics) = connection.query(text, format.name, parameters)?;
    send(reply, Reply::Whole { format, body: body.into(), statistics });
    Ok(())
}

fn stream(
    connection: &mut Connection,
    text: &[u8],
    format: Format,
    parameters: &[(String, String)],
    reply: &mut Sender,
    runtime: &tokio::runtime::Handle,
) -> Result<(), Exception> {
    let mut joiner = Joiner::new(format.shape);
    let mut stream = connection.stream(text, format.name, parameters)?;
    let first = stream.next_chunk()?.unwrap_or_default();
    let first = if first.is_empty() { Bytes::new() } else { Bytes::copy_from_slice(joiner.join(&first)?) };
    let Some(second) = stream.next_chunk()? else {
        send(reply, Reply::Whole { format, body: first, statistics: Statistics::default() });
        return Ok(());
    };
    let (sender, chunks) = mpsc::channel(CHUNKS_WAITING);
    send(reply, Reply::Stream { format, chunks });
    // False when the client has gone or takes nothing.
    let deliver = |chunk| {
        let sending = tokio::time::timeout(CLIENT_STALL, sender.send(chunk));
        matches!(runtime.block_on(sending), Ok(Ok(())))
    };
    let mut next: Result<_, Exception> = Ok(Some(second));
    let mut open = deliver(Ok(first));
    while open {
        let joined = match &next {
            Ok(Some(chunk)) => joiner.join(chunk).map(Bytes::copy_from_slice),
            Ok(None) => return Ok(()),
            Err(exception) => Err(exception.clone()),
        };
        let failed = joined.is_err();
        open = deliver(joined) && !failed;
        if open {
            next = stream.next_chunk();
        }
    }
    Ok(())
}
