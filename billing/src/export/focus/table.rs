//! A table while its rows come in, as CSV or Parquet.

use super::value::{Kind, Value};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows of a Parquet row group: what is held in memory at once.
const GROUP_ROWS: usize = 20_000;

/// Bytes and digits of a decimal.
const DECIMAL_BYTES: i32 = 16;
const DECIMAL_DIGITS: i32 = 38;
const DECIMAL_SCALE: i32 = 15;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// RFC 4180, UTF-8, an empty cell for null.
    Csv,
    /// Apache Parquet, zstd; decimals as DECIMAL(38, 15), instants as UTC milliseconds.
    Parquet,
}

/// Why a table can't be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// As CSV.
    #[error("the CSV can't be written")]
    Csv(#[from] csv::Error),
    /// As Parquet.
    #[error("the Parquet file can't be written")]
    Parquet(#[from] ParquetError),
    /// The file itself.
    #[error("the file can't be written")]
    Io(#[from] std::io::Error),
}

/// A table of stated columns.
pub struct Table<W: Write + Send>(Writer<W>);

enum Writer<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    Parquet { file: Box<SerializedFileWriter<W>>, kinds: Vec<Kind>, rows: Vec<Vec<Value>> },
}

impl<W: Write + Send> Table<W> {
    /// Begins a table.
    ///
    /// # Errors
    /// It can't be written.
    pub fn begin(columns: &[(&str, Kind)], form: Form, to: W) -> Result<Self, TableError> {
        let writer = match form {
            Form::Csv => {
                let mut writer = csv::Writer::from_writer(to);
                writer.write_record(columns.iter().map(|(name, _)| name))?;
                Writer::Csv(Box::new(writer))
            }
            Form::Parquet => {
                let fields =
                    columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_, _>>()?;
                let schema = Type::group_type_builder("focus").with_fields(fields).build()?;
                let compression = Compression::ZSTD(ZstdLevel::try_new(3)?);
                let properties = WriterProperties::builder().set_compression(compression).build();
                let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
                let kinds = columns.iter().map(|(_, kind)| *kind).collect();
                Writer::Parquet { file: Box::new(file), kinds, rows: Vec::new() }
            }
        };
        Ok(Self(writer))
    }

    /// Adds a row of as many cells as there are columns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn row(&mut self, cells: Vec<Value>) -> Result<(), TableError> {
        match &mut self.0 {
            Writer::Csv(writer) => writer.write_record(cells.iter().map(harmless))?,
            Writer::Parquet { file, kinds, rows } => {
                rows.push(cells);
                if rows.len() == GROUP_ROWS {
                    group(file, kinds, &std::mem::take(rows))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the table and gives back what it was written to.
    ///
    /// # Errors
    /// It can't be written.
    pub fn end(self) -> Result<W, TableError> {
        match self.0 {
            Writer::Csv(writer) => Ok(writer.into_inner().map_err(|e| e.into_error())?),
            Writer::Parquet { mut file, kinds, rows } => {
                if !rows.is_empty() {
                    group(&mut file, &kinds, &rows)?;
                }
                Ok(file.into_inner()?)
            }
        }
    }
}

/// A cell that no spreadsheet takes for a formula.
fn harmless(value: &Value) -> String {
    match value {
        Value::Text(text) => crate::export::csv::harmless(text),
        other => other.plain(),
    }
}

fn field(name: &str, kind: Kind) -> Result<Arc<Type>, ParquetError> {
    let physical = match kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Decimal => Physical::FIXED_LEN_BYTE_ARRAY,
        Kind::Time => Physical::INT64,
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    let built = match kind {
        Kind::Text => builder.with_logical_type(Some(LogicalType::String)),
        Kind::Decimal => builder
            .with_length(DECIMAL_BYTES)
            .with_precision(DECIMAL_DIGITS)
            .with_scale(DECIMAL_SCALE)
            .with_logical_type(Some(LogicalType::decimal(DECIMAL_SCALE, DECIMAL_DIGITS))),
        Kind::Time => builder.with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    Ok(Arc::new(built.build()?))
}

/// Writes rows column by column.
fn group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    kinds: &[Kind],
    rows: &[Vec<Value>],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for (at, kind) in kinds.iter().enumerate() {
        let Some(mut column) = group.next_column()? else { break };
        let cells = || rows.iter().map(|row| &row[at]);
        let defined: Vec<i16> = cells().map(|cell| i16::from(*cell != Value::Null)).collect();
        match kind {
            Kind::Text => {
                let values: Vec<ByteArray> = cells().filter_map(text).collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&defined), None)?;
            }
            Kind::Decimal => {
                let values: Vec<FixedLenByteArray> = cells().filter_map(decimal).collect();
                column.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&defined), None)?;
            }
            Kind::Time => {
                let values: Vec<i64> = cells().filter_map(time).collect();
                column.typed::<Int64Type>().write_batch(&values, Some(&defined), None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}

fn text(value: &Value) -> Option<ByteArray> {
    if let Value::Text(text) = value { Some(text.as_str().into()) } else { None }
}

/// Big-endian two's complement.
fn decimal(value: &Value) -> Option<FixedLenByteArray> {
    if let Value::Decimal(exact) = value { Some(exact.0.to_be_bytes().to_vec().into()) } else { None }
}

fn time(value: &Value) -> Option<i64> {
    if let Value::Time(at_ms) = value { Some(*at_ms) } else { None }
}
