//! The few HTTP requests that a simulation makes itself.

use anyhow::{Context, Result};
use schema::wire::{EnrolRequest, EnrolResponse};
use std::io::Read;

/// Bodies longer than this are not ours.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Body of a GET, with a bearer token where one is given.
///
/// # Errors
/// No answer, or another status than 2xx; the error carries the status.
pub fn get(url: &str, token: Option<&str>) -> Result<String> {
    let mut request = ureq::get(url);
    if let Some(token) = token {
        request = request.header("Authorization", &format!("Bearer {token}"));
    }
    let response = request.call().with_context(|| format!("GET {url}"))?;
    read(response)
}

/// Enrols a node and returns its credential.
///
/// # Errors
/// The service refuses the join token, or doesn't answer.
pub fn enrol(base: &str, join_token: &str, cluster: &str, node: &str) -> Result<String> {
    let request = EnrolRequest {
        join_token: join_token.to_string(),
        cluster: cluster.to_string(),
        node: node.to_string(),
    };
    let response = ureq::post(&format!("{base}/api/v1/enrol"))
        .header("Content-Type", "application/json")
        .send(serde_json::to_string(&request)?)
        .with_context(|| format!("enrol {cluster}/{node}"))?;
    let answer: EnrolResponse = serde_json::from_str(&read(response)?)?;
    Ok(answer.credential)
}

fn read(response: ureq::http::Response<ureq::Body>) -> Result<String> {
    let mut text = String::new();
    response.into_body().into_reader().take(BODY_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
