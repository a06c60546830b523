//! Values in JSON. Numbers are hexadecimal, as the bytes they have in a file, so that nothing is rounded.

use array_format::{ArrayElement, ArrayStats, AttributeValue, DType, EcoString, FillValue, StatValue};
use serde_json::{Value, json};

type Parsed<T> = Result<T, Box<dyn std::error::Error>>;

pub fn text<'a>(command: &'a Value, key: &str) -> &'a str {
    command[key].as_str().unwrap_or_default()
}

pub fn numbers(command: &Value, key: &str) -> Vec<usize> {
    let list = command[key].as_array().into_iter().flatten();
    list.filter_map(|each| each.as_u64()).map(|number| number as usize).collect()
}

pub fn names(command: &Value, key: &str) -> Vec<String> {
    strings(&command[key])
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|each| each.as_str()).map(str::to_owned).collect()
}

fn pack<T: ArrayElement>(values: &[T]) -> Value {
    hex::encode(T::encode_chunk(values)).into()
}

fn unpack<T: ArrayElement>(value: &Value) -> Parsed<Vec<T>> {
    Ok(T::decode_chunk(&hex::decode(value.as_str().unwrap_or_default())?))
}

fn unpack_one<T: ArrayElement>(value: &Value) -> Parsed<T> {
    unpack(value)?.into_iter().next().ok_or_else(|| "a number has no bytes".into())
}

pub fn dtype_name(dtype: &DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::Int8 => "int8",
        DType::Int16 => "int16",
        DType::Int32 => "int32",
        DType::Int64 => "int64",
        DType::UInt8 => "uint8",
        DType::UInt16 => "uint16",
        DType::UInt32 => "uint32",
        DType::UInt64 => "uint64",
        DType::Float32 => "float32",
        DType::Float64 => "float64",
        DType::String => "string",
        DType::Binary => "binary",
        DType::FixedSizeList { .. } => "fixed_size_list",
        DType::List { .. } => "list",
        DType::TimestampNs => "timestamp_ns",
    }
}

pub fn fill(value: &Value) -> Parsed<Option<FillValue>> {
    let inner = &value["value"];
    Ok(Some(match text(value, "kind") {
        "" => return Ok(None),
        "bool" => FillValue::Bool(inner.as_bool().unwrap_or_default()),
        "int" => FillValue::Int(unpack_one(inner)?),
        "uint" => FillValue::UInt(unpack_one(inner)?),
        "float" => FillValue::Float(unpack_one(inner)?),
        "string" => FillValue::String(text(value, "value").to_owned()),
        "timestamp_ns" => FillValue::TimestampNs(unpack_one(inner)?),
        other => return Err(format!("unknown fill value {other}").into()),
    }))
}

pub fn from_fill(fill: &FillValue) -> Value {
    let (kind, value) = match fill {
        FillValue::Bool(value) => ("bool", json!(value)),
        FillValue::Int(value) => ("int", pack(&[*value])),
        FillValue::UInt(value) => ("uint", pack(&[*value])),
        FillValue::Float(value) => ("float", pack(&[*value])),
        FillValue::String(value) => ("string", json!(value)),
        FillValue::TimestampNs(value) => ("timestamp_ns", pack(&[*value])),
    };
    json!({ "kind": kind, "value": value })
}

pub fn from_stats(stats: &ArrayStats) -> Value {
    let extreme = |value: &Option<StatValue>| value.as_ref().map(from_stat);
    json!({
        "min": extreme(&stats.min),
        "max": extreme(&stats.max),
        "nullCount": stats.null_count.to_string(),
        "rowCount": stats.row_count.to_string(),
    })
}

fn from_stat(stat: &StatValue) -> Value {
    let (kind, value) = match stat {
        StatValue::Int(value) => ("int", pack(&[*value])),
        StatValue::UInt(value) => ("uint", pack(&[*value])),
        StatValue::Float(value) => ("float", pack(&[*value])),
        StatValue::Bytes(value) => ("bytes", hex::encode(value).into()),
        StatValue::TimestampNs(value) => ("timestamp_ns", pack(&[*value])),
    };
    json!({ "kind": kind, "value": value })
}

macro_rules! attributes {
    ($($name:literal $one:ident $list:ident),*) => {
        pub fn from_attribute(attribute: &AttributeValue) -> Value {
            let (kind, value) = match attribute {
                $(AttributeValue::$one(value) => ($name, pack(&[*value])),
                AttributeValue::$list(value) => (concat!($name, "[]"), pack(value)),)*
                AttributeValue::Bool(value) => ("bool", json!(value)),
                AttributeValue::String(value) => ("string", json!(value.as_str())),
                AttributeValue::Binary(value) => ("binary", hex::encode(value).into()),
                AttributeValue::BoolList(value) => ("bool[]", json!(value)),
                AttributeValue::StringList(value) => ("string[]", value.iter().map(|each| json!(each.as_str())).collect()),
                AttributeValue::BinaryList(value) => ("binary[]", value.iter().map(hex::encode).collect()),
            };
            json!({ "type": kind, "value": value })
        }

        pub fn attribute(attribute: &Value) -> Parsed<AttributeValue> {
            let value = &attribute["value"];
            Ok(match text(attribute, "type") {
                $($name => AttributeValue::$one(unpack_one(value)?),
                concat!($name, "[]") => AttributeValue::$list(unpack(value)?.into_boxed_slice()),)*
                "bool" => AttributeValue::Bool(value.as_bool().unwrap_or_default()),
                "string" => AttributeValue::String(text(attribute, "value").into()),
                "binary" => AttributeValue::Binary(hex::decode(text(attribute, "value"))?.into_boxed_slice()),
                "bool[]" => {
                    let list = value.as_array().into_iter().flatten();
                    AttributeValue::BoolList(list.filter_map(|each| each.as_bool()).collect())
                }
                "string[]" => AttributeValue::StringList(strings(value).into_iter().map(EcoString::from).collect()),
                "binary[]" => {
                    let list = strings(value).iter().map(hex::decode).collect::<Result<Vec<_>, _>>()?;
                    AttributeValue::BinaryList(list.into_iter().map(Vec::into_boxed_slice).collect())
                }
                other => return Err(format!("unknown attribute type {other}").into()),
            })
        }
    };
}

attributes!(
    "int8" Int8 Int8List,
    "int16" Int16 Int16List,
    "int32" Int32 Int32List,
    "int64" Int64 Int64List,
    "uint8" UInt8 UInt8List,
    "uint16" UInt16 UInt16List,
    "uint32" UInt32 UInt32List,
    "uint64" UInt64 UInt64List,
    "float32" Float32 Float32List,
    "float64" Float64 Float64List
);
