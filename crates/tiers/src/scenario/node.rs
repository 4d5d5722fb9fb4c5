//! A TOML value as serde reads it, with our own error: an unknown key comes as a name with those that are known, and every error
//! with the path to its key, as `--set` spells it.

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

use super::ScenarioError;

/// A value that is to be read.
pub(super) struct Node(pub(super) Value);

impl<'de> Deserializer<'de> for Node {
    type Error = ScenarioError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(truth) => visitor.visit_bool(truth),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(members) => visitor.visit_seq(Members(members.into_iter(), 0)),
            Value::Table(table) => visitor.visit_map(TableEntries(table.into_iter(), None)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        let text = self.0.as_str().map_or_else(|| self.0.to_string(), str::to_owned);
        let text: StringDeserializer<ScenarioError> = text.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Members of an array, and how many were read.
struct Members(std::vec::IntoIter<Value>, usize);

impl<'de> SeqAccess<'de> for Members {
    type Error = ScenarioError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ScenarioError> {
        let Some(member) = self.0.next() else { return Ok(None) };
        let name = member.get("name").and_then(Value::as_str).map_or_else(|| self.1.to_string(), str::to_owned);
        self.1 += 1;
        seed.deserialize(Node(member)).map(Some).map_err(|error| error.within(&name))
    }
}

/// Entries of a table, and the one whose key was read.
struct TableEntries(toml::map::IntoIter<String, Value>, Option<(String, Value)>);

impl<'de> MapAccess<'de> for TableEntries {
    type Error = ScenarioError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ScenarioError> {
        self.1 = self.0.next();
        let key: Option<StringDeserializer<ScenarioError>> = self.1.as_ref().map(|(key, _)| key.clone().into_deserializer());
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ScenarioError> {
        let (key, value) = self.1.take().ok_or_else(|| ScenarioError::custom("a value without its key"))?;
        seed.deserialize(Node(value)).map_err(|error| error.within(&key))
    }
}
