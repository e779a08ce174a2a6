//! Reads the HTTP interface of ClickHouse: parameters, forms and credentials.

use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::http::request::Parts;

use crate::exception::{Code, Exception};
use crate::query::Request;

/// Parameters of the interface that aren't settings and need nothing from us. A session is accepted
/// and not kept: every request has one of its own.
const IGNORED: &[&str] = &[
    "user",
    "password",
    "quota_key",
    "stacktrace",
    "query_id",
    "session_id",
    "session_timeout",
    "session_check",
    "close_session",
    "buffer_size",
    "wait_end_of_query",
    "client_protocol_version",
];

/// The secret a request carries, in whichever place; `None` when it carries none.
pub fn secret(parts: &Parts, parameters: &[(String, String)]) -> Option<String> {
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let basic = || {
        let encoded = header(AUTHORIZATION.as_str())?;
        let decoded = base64_decoded(encoded.strip_prefix("Basic ")?.trim())?;
        let decoded = String::from_utf8(decoded).ok()?;
        decoded.split_once(':').map(|(_, secret)| secret.to_owned())
    };
    let parameter = || parameters.iter().find(|(name, _)| name == "password").map(|(_, value)| value.clone());
    header("x-clickhouse-key").or_else(basic).or_else(parameter)
}

/// Refuses what is missing or wrong, in a time that doesn't tell how much of it was right.
pub fn authenticate(given: Option<&str>, secret: &str) -> Result<(), Exception> {
    let given = given.ok_or_else(|| {
        Exception::new(Code::RequiredPassword, "default: Authentication failed: the embedded engine wants its secret as password (engine.json in the data directory holds it)")
    })?;
    let different = given.bytes().zip(secret.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    match given.len() == secret.len() && different == 0 {
        true => Ok(()),
        false => Err(Exception::new(
            Code::AuthenticationFailed,
            "default: Authentication failed: password is incorrect; the secret changes with each start",
        )),
    }
}

/// The parameters of the URL.
pub fn url_parameters(parts: &Parts) -> Result<Vec<(String, String)>, Exception> {
    parts
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((percent_decoded(name)?, percent_decoded(value)?))
        })
        .collect()
}

/// Puts the request together from its URL, headers and complete body.
pub fn read(parts: &Parts, url: Vec<(String, String)>, body: Bytes) -> Result<Request, Exception> {
    if parts.headers.contains_key(CONTENT_ENCODING) {
        return Err(Exception::new(
            Code::NotImplemented,
            "Content-Encoding: the embedded engine takes bodies uncompressed; turn compression off in the client",
        ));
    }
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut request = Request {
        database: header("x-clickhouse-database"),
        default_format: header("x-clickhouse-format"),
        read_only: parts.method == hyper::Method::GET,
        ..Request::default()
    };
    let boundary =
        header(CONTENT_TYPE.as_str()).filter(|kind| kind.starts_with("multipart/form-data")).and_then(
            |kind| kind.split_once("boundary=").map(|(_, boundary)| boundary.trim_matches('"').to_owned()),
        );
    let form = match &boundary {
        Some(boundary) => form_fields(&body, boundary)?,
        None => Vec::new(),
    };
    for (name, value) in url.into_iter().chain(form) {
        match name.as_str() {
            "query" => request.query.push_str(&value),
            "database" => request.database = Some(value).filter(|database| !database.is_empty()),
            "default_format" => request.default_format = Some(value),
            "compress" | "decompress" if value != "0" => {
                return Err(Exception::new(
                    Code::NotImplemented,
                    format!(
                        "{name}=1: the embedded engine takes and gives data uncompressed; turn compression off in the client"
                    ),
                ));
            }
            "compress" | "decompress" => {}
            ignored if IGNORED.contains(&ignored) => {}
            _ => match name.strip_prefix("param_") {
                Some(parameter) => request.parameters.push((parameter.to_owned(), value)),
                None => request.settings.push((name, value)),
            },
        }
    }
    if boundary.is_none() {
        request.body = body;
    }
    Ok(request)
}

/// The fields of a multipart form, as names and values.
fn form_fields(body: &[u8], boundary: &str) -> Result<Vec<(String, String)>, Exception> {
    let broken =
        || Exception::new(Code::BadArguments, "The multipart form of the request is cut or malformed");
    let delimiter = format!("--{boundary}");
    let find =
        |haystack: &[u8], needle: &[u8]| haystack.windows(needle.len()).position(|window| window == needle);
    let mut fields = Vec::new();
    let mut rest = &body[find(body, delimiter.as_bytes()).ok_or_else(broken)? + delimiter.len()..];
    while !rest.starts_with(b"--") {
        let headers_end = find(rest, b"\r\n\r\n").ok_or_else(broken)?;
        let headers = std::str::from_utf8(&rest[..headers_end]).map_err(|_| broken())?;
        let name =
            headers.split_once("name=\"").and_then(|(_, name)| name.split_once('"')).ok_or_else(broken)?.0;
        let content = &rest[headers_end + 4..];
        let end = find(content, format!("\r\n{delimiter}").as_bytes()).ok_or_else(broken)?;
        let value = String::from_utf8(content[..end].to_vec()).map_err(|_| broken())?;
        fields.push((name.to_owned(), value));
        rest = &content[end + 2 + delimiter.len()..];
    }
    Ok(fields)
}

/// Decodes `%41` and `+` of a URL.
fn percent_decoded(text: &str) -> Result<String, Exception> {
    let broken = || {
        Exception::new(Code::BadArguments, format!("The URL parameter {text:?} is not percent-encoded UTF-8"))
    };
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
                let (high, low) = (digit().ok_or_else(broken)?, digit().ok_or_else(broken)?);
                u8::try_from(high * 16 + low).expect("two hexadecimal digits")
            }
            other => other,
        });
    }
    String::from_utf8(decoded).map_err(|_| broken())
}

/// Decodes base64 with the standard alphabet; `None` for anything else.
fn base64_decoded(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push(u8::try_from((bits >> count) & 0xff).expect("eight bits"));
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut builder = hyper::Request::builder().method("POST").uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).expect("a valid request").into_parts().0
    }

    #[test]
    fn the_secret_is_taken_from_every_place_a_client_puts_it() {
        let found = |uri: &str, headers: &[(&str, &str)]| {
            let parts = parts(uri, headers);
            let url = url_parameters(&parts).expect("decodable");
            secret(&parts, &url)
        };
        assert_eq!(found("/", &[("X-ClickHouse-Key", "s3")]).as_deref(), Some("s3"));
        assert_eq!(found("/", &[("Authorization", "Basic ZGVmYXVsdDpzMw==")]).as_deref(), Some("s3"));
        assert_eq!(found("/?user=default&password=s%33", &[]).as_deref(), Some("s3"));
        assert_eq!(found("/", &[("Authorization", "Bearer s3")]), None);
        assert_eq!(found("/", &[]), None);
    }

    #[test]
    fn only_the_whole_secret_opens() {
        assert!(authenticate(Some("abc"), "abc").is_ok());
        for wrong in ["", "ab", "abd", "abcd"] {
            assert_eq!(authenticate(Some(wrong), "abc").expect_err("wrong").status(), 403);
        }
        assert_eq!(authenticate(None, "abc").expect_err("missing").status(), 401);
    }

    #[test]
    fn a_form_carries_the_query_and_its_parameters() {
        let body = "--B\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\nSELECT {x:String}\r\n--B\r\n\
                    Content-Disposition: form-data; name=\"param_x\"\r\n\r\na\r\nb\r\n--B--\r\n";
        let parts =
            parts("/?max_threads=2&database=d", &[("Content-Type", "multipart/form-data; boundary=B")]);
        let url = url_parameters(&parts).expect("decodable");
        let request = read(&parts, url, Bytes::from(body)).expect("well formed");
        assert_eq!(request.query, "SELECT {x:String}");
        assert_eq!(request.parameters, [("x".to_owned(), "a\r\nb".to_owned())]);
        assert_eq!(request.settings, [("max_threads".to_owned(), "2".to_owned())]);
        assert_eq!(request.database.as_deref(), Some("d"));
        assert!(
            form_fields(body.as_bytes().split_at(body.len() - 12).0, "B").is_err(),
            "a cut form is no form"
        );
    }
}
