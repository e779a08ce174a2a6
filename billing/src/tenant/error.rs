//! What can be wrong with the tenants' file, in words that name file, key and remedy.

use super::{BadTenantId, TenantId};
use crate::instant::InstantError;
use crate::place::Place;

/// Why `tenants.toml` can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TenantError {
    /// Not TOML, an unknown key, or a missing one.
    #[error("{place}: {message}: see tenants.example.toml for every key")]
    Toml {
        /// Where.
        place: Place,
        /// The parser's words.
        message: String,
    },
    /// Not a usable id.
    #[error("{place}: {key}")]
    Id {
        /// Where.
        place: Place,
        /// `id`, `parent` or `tenant`.
        key: &'static str,
        /// Why.
        #[source]
        source: BadTenantId,
    },
    /// A reserved name.
    #[error("{place}: {id} is reserved for the service: choose another id")]
    Reserved {
        /// Where.
        place: Place,
        /// The name.
        id: TenantId,
    },
    /// One id twice.
    #[error("{place}: the tenant {id} is declared twice: remove one of them")]
    SameId {
        /// Where the second stands.
        place: Place,
        /// The id.
        id: TenantId,
    },
    /// Statement numbers of two tenants would be the same.
    #[error(
        "{place}: tenants {first} and {second} share the statement prefix {prefix:?}: set statement_prefix of one"
    )]
    SamePrefix {
        /// Where the second stands.
        place: Place,
        /// Which had it first.
        first: TenantId,
        /// Which has it too.
        second: TenantId,
        /// The prefix.
        prefix: String,
    },
    /// A prefix that isn't safe.
    #[error(
        "{place}: statement_prefix {prefix:?} of tenant {id}: use 1 to 32 letters, digits, '.', '_' or '-', and not PLATFORM"
    )]
    BadPrefix {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
        /// The prefix.
        prefix: String,
    },
    /// A tenant that isn't declared.
    #[error(
        "{place}: {key} = {id} names no declared tenant: add a [[tenant]] with that id, or correct the name"
    )]
    Undeclared {
        /// Where.
        place: Place,
        /// `parent` or `tenant`.
        key: &'static str,
        /// The name.
        id: TenantId,
    },
    /// A tenant that is its own ancestor.
    #[error("{place}: the tenant {id} is its own ancestor: change `parent` of one tenant in the circle")]
    Circle {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
    },
    /// A rule without conditions.
    #[error("{place}: rule {rule} has an empty match and would take everything: name at least one of {keys}", keys = super::file::match_keys())]
    EmptyMatch {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
    },
    /// Something that a rule can't look at.
    #[error("{place}: rule {rule} matches on {key:?}: use {keys}", keys = super::file::match_keys())]
    MatchKey {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
        /// As written.
        key: String,
    },
    /// A kind that isn't one.
    #[error("{place}: kind = {kind:?} of rule {rule}: use kubernetes, slurm, container, systemd, user or vm")]
    Kind {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
        /// As written.
        kind: String,
    },
    /// A time isn't usable.
    #[error("{place}: {key} of {whose}")]
    Instant {
        /// Where.
        place: Place,
        /// The rule or the tenant.
        whose: String,
        /// `from`, `to` or `ends`.
        key: &'static str,
        /// Why.
        #[source]
        source: InstantError,
    },
    /// Ends before it starts.
    #[error("{place}: rule {rule} ends at or before its start: set `to` after `from`, or leave one out")]
    Backwards {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
    },
    /// Not a pattern in quotes, nor a list of some.
    #[error("{place}: {key} of {whose}: write one pattern in quotes, or a list of 1 to 100 of them")]
    Patterns {
        /// Where.
        place: Place,
        /// The rule or the pool.
        whose: String,
        /// The key.
        key: String,
    },
    /// Labels that aren't a table.
    #[error(
        "{place}: {key} of rule {rule}: name the label and a pattern, such as {key} = {{ team = \"vision\" }}"
    )]
    Labels {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
        /// `label` or `namespace_label`.
        key: &'static str,
    },
    /// One pool twice.
    #[error("{place}: the pool {name:?} is declared twice: remove one of them")]
    SamePool {
        /// Where the second stands.
        place: Place,
        /// Its name.
        name: String,
    },
    /// A pool that isn't declared.
    #[error(
        "{place}: pool {name:?} of rule {rule} is not declared: add a [[pool]] with that name and its nodes"
    )]
    UndeclaredPool {
        /// Where.
        place: Place,
        /// Position from 1.
        rule: usize,
        /// Its name.
        name: String,
    },
    /// A value of the master data that can't be meant.
    #[error("{place}: {key} of tenant {id}: {value:?}: {remedy}")]
    Value {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// What to write.
        remedy: &'static str,
    },
    /// Changes out of order.
    #[error(
        "{place}: changes of tenant {id} are not in the order of their `from`: sort them, each with its own instant"
    )]
    ChangeOrder {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
    },
    /// A change of a tenant that has ended.
    #[error("{place}: a change of tenant {id} starts at or after its end: remove the change, or move `ends`")]
    ChangeAfterEnd {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
    },
    /// A change that changes nothing.
    #[error("{place}: a change of tenant {id} names nothing but `from`: say what changes, or remove it")]
    EmptyChange {
        /// Where.
        place: Place,
        /// The tenant.
        id: TenantId,
    },
}
