//! Values that the two databases store in different types.

use pipeline::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Postgres, Sqlite, Type};
use time::OffsetDateTime;
use uuid::Uuid;

/// A time: `timestamptz` in Postgres, milliseconds since 1970 in `SQLite`. Postgres
/// counts microseconds, and a time that is read there is written back unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    micros: i64,
}

impl Moment {
    fn from_millis(millis: i64) -> Self {
        Self {
            micros: millis.saturating_mul(1000),
        }
    }

    /// Microseconds since 1970, for [`Rows`].
    pub(crate) fn as_micros(self) -> i64 {
        self.micros
    }

    fn as_millis(self) -> i64 {
        self.micros.div_euclid(1000)
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self::from_millis(timestamp.as_millis())
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        Self::from_millis(moment.as_millis())
    }
}

impl Type<Postgres> for Moment {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for Moment {
    /// A time outside the range of the type is stored as null.
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let nanos = i128::from(self.micros) * 1000;
        match OffsetDateTime::from_unix_timestamp_nanos(nanos) {
            Ok(moment) => Encode::<Postgres>::encode_by_ref(&moment, buffer),
            Err(_out_of_range) => Ok(IsNull::Yes),
        }
    }
}

impl Decode<'_, Postgres> for Moment {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let moment = <OffsetDateTime as Decode<Postgres>>::decode(value)?;
        let micros = moment.unix_timestamp_nanos().div_euclid(1000);
        let micros = i64::try_from(micros).unwrap_or(i64::MAX);
        Ok(Self { micros })
    }
}

impl Type<Sqlite> for Moment {
    fn type_info() -> SqliteTypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }

    fn compatible(type_info: &SqliteTypeInfo) -> bool {
        <i64 as Type<Sqlite>>::compatible(type_info)
    }
}

impl Encode<'_, Sqlite> for Moment {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode_by_ref(&self.as_millis(), buffer)
    }
}

impl Decode<'_, Sqlite> for Moment {
    fn decode(value: SqliteValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Self::from_millis(<i64 as Decode<Sqlite>>::decode(value)?))
    }
}

/// Rows for a statement that writes many: a JSON array of objects, for
/// `jsonb_to_recordset` in Postgres and `json_each` in `SQLite`. Bytes are hexadecimal,
/// times are microseconds.
#[derive(Debug, Default)]
pub(crate) struct Rows(Vec<serde_json::Value>);

impl Rows {
    pub(crate) fn push(&mut self, row: serde_json::Value) {
        self.0.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text to bind.
    pub(crate) fn into_text(self) -> String {
        serde_json::Value::Array(self.0).to_string()
    }
}

/// Bytes as hexadecimal text, as [`Rows`] hold them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let digits = [byte >> 4, byte & 15].map(u32::from);
        hex.extend(
            digits
                .into_iter()
                .filter_map(|digit| char::from_digit(digit, 16)),
        );
    }
    hex
}

/// A list of values: an array in Postgres (`= ANY($1)`), in `SQLite` a JSON array for
/// `json_each`, in which bytes and ids are hexadecimal (`unhex(value)`).
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// An element of a [`List`], as `SQLite`'s JSON has it.
pub(crate) trait Element {
    /// The element as text that needs no escaping in JSON.
    fn text(&self) -> String;
}

impl Element for Uuid {
    fn text(&self) -> String {
        self.simple().to_string()
    }
}

impl Element for Vec<u8> {
    fn text(&self) -> String {
        hex(self)
    }
}

/// A number that is not known is an empty text (`nullif(value, '')`).
impl Element for Option<i64> {
    fn text(&self) -> String {
        self.map(|number| number.to_string()).unwrap_or_default()
    }
}

/// Addresses, domains and names, none of which holds a quote or a control character.
impl Element for String {
    fn text(&self) -> String {
        self.clone()
    }
}

impl<T> Type<Postgres> for List<T>
where
    Vec<T>: Type<Postgres>,
{
    fn type_info() -> PgTypeInfo {
        <Vec<T> as Type<Postgres>>::type_info()
    }
}

impl<'q, T> Encode<'q, Postgres> for List<T>
where
    Vec<T>: Encode<'q, Postgres>,
{
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        self.0.encode_by_ref(buffer)
    }
}

impl<T> Type<Sqlite> for List<T> {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl<T: Element> Encode<'_, Sqlite> for List<T> {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        let elements: Vec<String> = self.0.iter().map(Element::text).collect();
        Encode::<Sqlite>::encode(format!("{elements:?}"), buffer)
    }
}
