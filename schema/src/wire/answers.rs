//! What isn't a batch: the answer to a delivery, and enrolment. JSON, because people read it with curl.

/// Answer to a delivery: everything in it is durable, the refused rows included (in the dead-letter table).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Receipt {
    /// Batches stored or already stored.
    pub batches: u64,
    /// Rows stored.
    pub rows: u64,
    /// Rows refused and kept as dead letters.
    pub dead_letters: u64,
}

/// What a collector sends to join: `POST /api/v1/enrol`.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EnrolRequest {
    /// The join token that the operator made.
    pub join_token: String,
    /// Cluster of the node.
    pub cluster: String,
    /// Name of the node.
    pub node: String,
}

/// The credential that answers an enrolment. It is shown once; the server keeps its hash.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EnrolResponse {
    /// Bearer token for `POST /api/v1/batches`, bound to the cluster and node.
    pub credential: String,
}
