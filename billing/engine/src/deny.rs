//! What the port refuses because it reaches outside the data directory.
//!
//! Two lines of defence. The engine runs with grants that hold no source (`config.rs`), which its
//! own access control enforces for table functions, engines and bound names. What it doesn't check
//! (seen: the scalar `file()`, INTO OUTFILE, dictionary sources, disks made in a query, format
//! schemas, the classes of statements that change what lies beside the databases) is refused here,
//! by the engine's classifier and by the words of the text. A word counts wherever it could be a
//! function, so a column named `file` must be qualified (`t.file`).

use crate::exception::{Code, Exception};
use crate::ffi::Class;
use crate::sql::Token;

/// Scalar functions that read files, resolve names or call services. Refused without parentheses
/// too: `arrayMap(file, paths)` and `* APPLY file` call them by name.
const SCALARS: &[&str] = &[
    "file",
    "catboostevaluate",
    "reversednsquery",
    "aiclassify",
    "aiembed",
    "aiextract",
    "aigenerate",
    "aitranslate",
];

/// Table functions and sources that reach files, hosts, memory addresses or other programs; `eval`
/// would run a text that we haven't seen.
const FUNCTIONS: &[&str] = &[
    "arrowflight",
    "arrowstream",
    "clickhouse",
    "cluster",
    "clusterallreplicas",
    "cosn",
    "disk",
    "eval",
    "executable",
    "executable_pool",
    "filecluster",
    "filesystem",
    "fuzzquery",
    "gcs",
    "http",
    "jdbc",
    "library",
    "mongodb",
    "mongo",
    "mysql",
    "nats",
    "odbc",
    "oss",
    "postgresql",
    "python",
    "redis",
    "remote",
    "remotesecure",
    "sqlite",
    "url",
    "urlcluster",
    "ytsaurus",
    "cassandra",
];

/// Families of table functions, by how their names start.
const FAMILIES: &[&str] = &["azureblobstorage", "deltalake", "hdfs", "hudi", "iceberg", "paimon", "s3"];

/// Engines of tables and databases that keep to the data directory, besides the MergeTree family.
const ENGINES: &[&str] = &[
    "aggregatingmergetree",
    "alias",
    "atomic",
    "buffer",
    "dictionary",
    "distributed",
    "generaterandom",
    "join",
    "log",
    "materializedview",
    "memory",
    "merge",
    "null",
    "ordinary",
    "replicated",
    "set",
    "stripelog",
    "tinylog",
    "view",
];

/// Settings that name files, addresses or programs, by how they start.
const SETTINGS: &[&str] =
    &["format_schema", "format_template", "format_avro_schema_registry", "allow_experimental_eval"];

/// Words a statement of the class `Control` may start with. The rest (ATTACH and DETACH, COPY,
/// SNAPSHOT, EXECUTE AS, transactions) reach past what a request may touch, or do nothing here.
const CONTROL: &[&str] = &[
    "alter", "backup", "create", "delete", "drop", "insert", "kill", "restore", "set", "system", "truncate",
    "update", "use",
];

/// A setting given beside the text, as a parameter of the request.
pub fn check_setting(name: &str) -> Result<(), Exception> {
    let lower = name.to_ascii_lowercase();
    match SETTINGS.iter().any(|prefix| lower.starts_with(prefix)) {
        true => Err(refused(format!("the setting {name}"))),
        false => Ok(()),
    }
}

/// Refuses a statement for what the classifier says of it. `first` is its first word.
pub fn check_class(class: Class, statements: u32, first: &str) -> Result<(), Exception> {
    match class {
        _ if statements > 1 => Err(Exception::new(
            Code::SyntaxError,
            "Multi-statements are not allowed: send one statement a request",
        )),
        Class::MutatingGlobal => Err(refused(
            "a statement that changes what lies beside the databases (users, functions, named collections, system tables)",
        )),
        Class::Control if !CONTROL.contains(&first) => {
            Err(refused(format!("{} in this form", first.to_ascii_uppercase())))
        }
        Class::Unknown if statements > 0 => {
            Err(refused("a statement that the engine's classifier does not know"))
        }
        // What doesn't parse runs into the engine's own error, which says where.
        Class::Unknown | Class::Control | Class::Mutating | Class::ReadOnly => Ok(()),
    }
}

/// A value bound to a parameter: as an `{x:Identifier}` it could name a function to a higher-order one.
pub fn check_parameters(parameters: &[(String, String)], tokens: &[Token]) -> Result<(), Exception> {
    let names = tokens.iter().any(|token| token.is("identifier"));
    let function =
        |value: &str| SCALARS.contains(&value.trim().trim_matches(['`', '"']).to_ascii_lowercase().as_str());
    match parameters.iter().find(|(_, value)| names && function(value)) {
        Some((name, value)) => Err(refused(format!("the name {value} for the parameter {name}"))),
        None => Ok(()),
    }
}

/// Refuses a text for its words.
pub fn check_words(tokens: &[Token]) -> Result<(), Exception> {
    let ddl =
        tokens.first().is_some_and(|token| ["create", "replace", "alter"].iter().any(|word| token.is(word)));
    let dictionary = tokens.iter().take(4).any(|token| token.is("dictionary"));
    for (index, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        let after = |offset: usize| tokens.get(index + offset);
        let before = index.checked_sub(1).map(|at| &tokens[at]);
        let called = after(1) == Some(&Token::Symbol(b'('));
        let named = before.is_some_and(|b| *b == Token::Symbol(b'.') || b.is("as")) && !called;
        let backup_target = called && before.is_some_and(|b| b.is("to") || b.is("from")) && is_backup(tokens);

        if SCALARS.contains(&name.as_str()) && !named && !backup_target {
            return Err(refused(format!("the function {name}()")));
        }
        let outward =
            FUNCTIONS.contains(&name.as_str()) || FAMILIES.iter().any(|family| name.starts_with(family));
        if outward && called {
            return Err(refused(format!("{name}()")));
        }
        if (token.is("outfile") && before.is_some_and(|b| b.is("into")))
            || (token.is("infile") && before.is_some_and(|b| b.is("from")))
        {
            return Err(refused(format!("{} a file of the engine's host", name.to_ascii_uppercase())));
        }
        if token.is("function") && before.is_some_and(|b| b.is("into") || b.is("table")) {
            return Err(refused("INSERT INTO FUNCTION"));
        }
        if ddl && token.is("engine") {
            let engine = if after(1) == Some(&Token::Symbol(b'=')) { after(2) } else { after(1) };
            if let Some(engine) = engine.and_then(Token::name)
                && !engine.ends_with("mergetree")
                && !ENGINES.contains(&engine.as_str())
            {
                return Err(refused(format!("the engine {engine}")));
            }
        }
        if dictionary && token.is("source") && called && !after(2).is_some_and(|source| source.is("null")) {
            return Err(refused("a dictionary with a source of its own"));
        }
        if token.is("freeze")
            || (token.is("fetch") && after(1).is_some_and(|a| a.is("partition") || a.is("part")))
        {
            return Err(refused(format!("{} PARTITION", name.to_ascii_uppercase())));
        }
        if before.is_none_or(|b| !matches!(b, Token::Symbol(b'.'))) {
            check_setting(&name)?;
        }
    }
    Ok(())
}

/// BACKUP and RESTORE name a file, which the engine confines to its backups directory.
fn is_backup(tokens: &[Token]) -> bool {
    tokens.first().is_some_and(|token| token.is("backup") || token.is("restore"))
}

fn refused(what: impl std::fmt::Display) -> Exception {
    Exception::new(
        Code::AccessDenied,
        format!("{what} is refused by the embedded engine: it reaches outside its data directory"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Lexer;

    fn refuses(text: &str) -> bool {
        check_words(&Lexer::new(text.as_bytes()).collect::<Vec<_>>()).is_err()
    }

    #[test]
    fn what_reaches_outside_is_refused_however_it_is_written() {
        for text in [
            "select file('/etc/passwd')",
            "select \"file\" ('/etc/passwd')",
            "select arrayMap(file, ['/etc/passwd'])",
            "select * apply file from t",
            "select * from url('http://host/')",
            "select * from s3Cluster('c', 'u')",
            "select * from icebergLocal('/x')",
            "select * from remoteSecure('h', d.t)",
            "select * from eval('select 1')",
            "select 1 into outfile '/tmp/x'",
            "insert into t from infile '/tmp/x' format CSV",
            "insert into function null('a Int8') select 1",
            "create table t (a Int8) engine = File(CSV)",
            "create table t (a Int8) engine URL('http://h/', CSV)",
            "create database d engine = Filesystem('/')",
            "create dictionary d (a UInt64) primary key a source(executable(command 'id')) layout(flat())",
            "create table t (a Int8) engine = MergeTree order by a settings disk = disk(type = web, endpoint = 'http://h')",
            "alter table t freeze",
            "alter table t fetch partition 1 from '/x'",
            "select 1 format Template settings format_template_row = '/etc/passwd'",
            "backup database d to S3('http://h/')",
            "select a /* x */ from /* y */ file /* z */ ('/etc/passwd')",
        ] {
            assert!(refuses(text), "{text}");
        }
    }

    #[test]
    fn what_stays_inside_is_let_through() {
        for text in [
            "select 'file(' as a, t.file from t -- url(",
            "select count() as file",
            "insert into t (a, b) values (1, 2)",
            "create table t (a Int8) engine = ReplacingMergeTree(v) order by a",
            "select engine from system.tables where engine = name",
            "backup database d to File('day-1')",
            "alter table t drop partition 1",
            "optimize table t final",
            "create table d as t engine = Distributed(c, d, t)",
            "select url, s3 from t",
        ] {
            assert!(!refuses(text), "{text}");
        }
    }
}
