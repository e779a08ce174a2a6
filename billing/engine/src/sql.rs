//! Just enough of ClickHouse's lexer to see which words a text holds, and where an insert's data
//! starts.
//!
//! It errs to one side: whatever could be read as a word is shown as one, so that the deny list
//! sees it. What a statement means is left to the engine's own parser.

/// One token; words carry no quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A bare word: keyword, name or number, as written.
    Word(String),
    /// A name in backticks or double quotes, without them.
    Quoted(String),
    /// A string literal.
    Text,
    /// Any other character.
    Symbol(u8),
}

impl Token {
    /// True when this is the bare word `keyword`, in any case.
    pub fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// The name that this token could be, in lower case.
    pub fn name(&self) -> Option<String> {
        match self {
            Token::Word(word) | Token::Quoted(word) => Some(word.to_ascii_lowercase()),
            Token::Text | Token::Symbol(_) => None,
        }
    }
}

/// Walks the tokens of a text; comments and white space are left out.
pub struct Lexer<'t> {
    text: &'t [u8],
    /// Where the next token is looked for.
    pub at: usize,
}

/// Curly quotes, which the engine takes for straight ones: opening bytes, closing bytes.
const CURLY_NAME: (&[u8], &[u8]) = ("\u{201c}".as_bytes(), "\u{201d}".as_bytes());
const CURLY_TEXT: (&[u8], &[u8]) = ("\u{2018}".as_bytes(), "\u{2019}".as_bytes());

impl<'t> Lexer<'t> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'t [u8]) -> Self {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'t [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    /// Moves behind the next `end`, or to the end of the text; returns what lies before it.
    fn until(&mut self, end: &[u8]) -> &'t [u8] {
        let rest = self.rest();
        let found = rest.windows(end.len()).position(|window| window == end);
        self.at += found.map_or(rest.len(), |position| position + end.len());
        &rest[..found.unwrap_or(rest.len())]
    }

    /// Reads up to the closing `quote`; a backslash or a doubled quote keeps it open.
    fn quoted(&mut self, quote: u8) -> String {
        let mut content = Vec::new();
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            let next = self.text.get(self.at).copied();
            match (byte, next) {
                (b'\\', Some(escaped)) => {
                    content.push(escaped);
                    self.at += 1;
                }
                (b, Some(n)) if b == quote && n == quote => {
                    content.push(quote);
                    self.at += 1;
                }
                (b, _) if b == quote => break,
                (b, _) => content.push(b),
            }
        }
        String::from_utf8_lossy(&content).into_owned()
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let length =
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'$').count();
        self.at += length;
        Token::Word(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// A `$tag$ ... $tag$` literal; `None` when the dollar starts something else.
    fn heredoc(&mut self) -> Option<Token> {
        let rest = self.rest();
        let tag = rest[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count() + 2;
        let opening = rest.get(..tag).filter(|opening| opening.ends_with(b"$"))?;
        rest[tag..].windows(tag).position(|window| window == opening)?;
        self.at += tag;
        self.until(opening);
        Some(Token::Text)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = self.rest();
            let first = *rest.first()?;
            if rest.starts_with(b"--") || rest.starts_with(b"#!") || rest.starts_with(b"# ") {
                self.until(b"\n");
            } else if rest.starts_with(b"/*") {
                self.at += 2;
                self.until(b"*/");
            } else if rest.starts_with(CURLY_NAME.0) {
                self.at += CURLY_NAME.0.len();
                return Some(Token::Quoted(String::from_utf8_lossy(self.until(CURLY_NAME.1)).into_owned()));
            } else if rest.starts_with(CURLY_TEXT.0) {
                self.at += CURLY_TEXT.0.len();
                self.until(CURLY_TEXT.1);
                return Some(Token::Text);
            } else if first.is_ascii_whitespace() || first.is_ascii_control() || !first.is_ascii() {
                // Beyond ASCII only white space may stand outside quotes.
                self.at += 1;
            } else if first.is_ascii_alphanumeric() || first == b'_' {
                return Some(self.word());
            } else {
                if first == b'$'
                    && let Some(token) = self.heredoc()
                {
                    return Some(token);
                }
                self.at += 1;
                return Some(match first {
                    b'\'' => {
                        self.quoted(b'\'');
                        Token::Text
                    }
                    b'`' | b'"' => Token::Quoted(self.quoted(first)),
                    other => Token::Symbol(other),
                });
            }
        }
    }
}

/// Where the rows of an INSERT come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertSource {
    /// Data in `format`, which starts behind byte `data`; the statement without its FORMAT clause
    /// is `text[..clause]`.
    Data { format: String, clause: usize, data: usize },
    /// VALUES or SELECT: the text is complete in itself.
    Inline,
}

/// Finds the source of an INSERT; `None` when the text is no INSERT.
pub fn insert_source(text: &[u8]) -> Option<InsertSource> {
    let mut lexer = Lexer::new(text);
    if !lexer.next()?.is("insert") {
        return None;
    }
    let mut depth = 0_i32;
    loop {
        let before = lexer.at;
        let Some(token) = lexer.next() else { return Some(InsertSource::Inline) };
        match &token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth -= 1,
            word if depth == 0 && (word.is("select") || word.is("values") || word.is("with")) => {
                return Some(InsertSource::Inline);
            }
            word if depth == 0 && word.is("format") => {
                let Some(Token::Word(format)) = lexer.next() else { return Some(InsertSource::Inline) };
                if format.eq_ignore_ascii_case("values") {
                    return Some(InsertSource::Inline);
                }
                return Some(InsertSource::Data { format, clause: before, data: data_start(text, lexer.at) });
            }
            _ => {}
        }
    }
}

/// Skips what the engine skips between the name of the format and the first byte of data.
fn data_start(text: &[u8], after_format: usize) -> usize {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | 0x0c);
    let skip = |from: usize, wanted: &dyn Fn(&u8) -> bool| {
        text[from..].iter().take_while(|b| wanted(b)).count() + from
    };
    let mut at = skip(after_format, &blank);
    if text.get(at) == Some(&b';') {
        at = skip(at + 1, &blank);
    }
    if text[at..].starts_with(b"\r\n") { at + 2 } else { at + usize::from(text.get(at) == Some(&b'\n')) }
}

/// The format a statement asks for in its own FORMAT clause, which comes last but for SETTINGS.
pub fn output_format(tokens: &[Token]) -> Option<&str> {
    let mut depth = 0_i32;
    let mut found = None;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth -= 1,
            word if depth == 0 && word.is("format") => {
                let last = match tokens.get(index + 2) {
                    None | Some(Token::Symbol(b';')) => true,
                    Some(next) => next.is("settings"),
                };
                if let (Some(Token::Word(name)), true) = (tokens.get(index + 1), last) {
                    found = Some(name.as_str());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Lexer::new(text.as_bytes()).filter_map(|token| token.name()).collect()
    }

    #[test]
    fn comments_and_literals_hide_words_and_quotes_do_not() {
        assert_eq!(words("select 'file(' /* url( */ -- s3(\n, $a$ s3( $a$ x"), ["select", "x"]);
        assert_eq!(
            words("`fi\\le` \"ur\"\"l\" \u{201c}s3\u{201d} file\u{a0}("),
            ["file", "ur\"l", "s3", "file"]
        );
        assert_eq!(words("'a''b' c 'd\\'e' f"), ["c", "f"]);
    }

    #[test]
    fn the_data_of_an_insert_starts_where_the_engine_says() {
        let split = |text: &str| match insert_source(text.as_bytes()) {
            Some(InsertSource::Data { format, clause, data }) => {
                Some(format!("{}|{format}|{}", &text[..clause], &text[data..]))
            }
            _ => None,
        };
        for (text, expected) in [
            ("INSERT INTO t FORMAT CSV\n1,2", "INSERT INTO t|CSV|1,2"),
            (
                "insert into t (a) settings x = 1 format RowBinary",
                "insert into t (a) settings x = 1|RowBinary|",
            ),
            ("INSERT INTO t FORMAT CSV ;\r\n\n1", "INSERT INTO t|CSV|\n1"),
        ] {
            assert_eq!(split(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t (format) SELECT 1 FORMAT CSV",
            "INSERT INTO t FORMAT Values (1)",
        ] {
            assert_eq!(split(text), None, "{text}");
        }
        assert_eq!(insert_source(b"select 1 format CSV"), None);
    }

    #[test]
    fn only_a_closing_format_clause_counts() {
        let format = |text: &str| {
            let tokens: Vec<Token> = Lexer::new(text.as_bytes()).collect();
            output_format(&tokens).map(str::to_owned)
        };
        assert_eq!(format("select 1 format JSON settings a = 1").as_deref(), Some("JSON"));
        assert_eq!(format("select format from t"), None);
        assert_eq!(format("select (select 1 format JSON)"), None);
        assert_eq!(format("select 1 FORMAT CSV;").as_deref(), Some("CSV"));
    }
}
