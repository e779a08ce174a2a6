//! The node's credential: read from its file or, once, exchanged for a join token.

use super::delivery::{agent, url};
use schema::wire::{EnrolRequest, EnrolResponse};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest answer to an enrolment that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// Where a credential comes from.
#[derive(Debug, Clone)]
pub struct Enrolment {
    /// Base URL of the service.
    pub url: String,
    /// File that holds the credential, or will.
    pub credential_file: PathBuf,
    /// File with the join token, where this node may enrol itself.
    pub join_token_file: Option<PathBuf>,
    /// Cluster's name.
    pub cluster: String,
    /// Node's name.
    pub node: String,
}

/// Why there is no credential.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    /// Neither a credential nor a token.
    #[error(
        "{0} doesn't exist and server.join_token_file isn't set; put a credential there or name a join token"
    )]
    Nothing(PathBuf),
    /// A file can't be read or written.
    #[error("{path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The server didn't give one.
    #[error("the server didn't enrol this node: {0}")]
    Server(String),
}

/// The credential, enrolling this node where it has none yet.
///
/// # Errors
/// There is neither credential nor token, a file fails, or the server refuses.
pub fn enrol(enrolment: &Enrolment) -> Result<String, EnrolError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| EnrolError::File { path, source }
    };
    match std::fs::read_to_string(&enrolment.credential_file) {
        Ok(credential) => return Ok(credential.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(file(&enrolment.credential_file)(error));
        }
        Err(_) => {}
    }
    let token_file = enrolment
        .join_token_file
        .as_ref()
        .ok_or_else(|| EnrolError::Nothing(enrolment.credential_file.clone()))?;
    let join_token = std::fs::read_to_string(token_file).map_err(file(token_file))?.trim().to_owned();
    let request =
        EnrolRequest { join_token, cluster: enrolment.cluster.clone(), node: enrolment.node.clone() };
    let body = serde_json::to_vec(&request).map_err(|error| EnrolError::Server(error.to_string()))?;
    let response = agent()
        .post(url(&enrolment.url, "/api/v1/enrol"))
        .header("content-type", "application/json")
        .send(&body[..]);
    let mut response = response.map_err(|error| EnrolError::Server(error.to_string()))?;
    let text = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    if !response.status().is_success() {
        return Err(EnrolError::Server(format!("status {}", response.status().as_u16())));
    }
    let answer: EnrolResponse = text
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(EnrolError::Server)?;
    store(&enrolment.credential_file, &answer.credential).map_err(file(&enrolment.credential_file))?;
    Ok(answer.credential)
}

/// Written whole, readable by this user alone.
fn store(path: &Path, credential: &str) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(credential.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}
