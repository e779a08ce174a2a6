//! Statements as bytes, one format a file. Machines get plain decimals without separators, and no float anywhere.

pub mod csv;

pub mod focus;

pub mod groups;

pub mod journal;

pub mod json;

pub mod mapping;
