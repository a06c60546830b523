//! The Rust crate array-format as a peer of tests: one JSON command per line on stdin, one JSON answer per line on stdout.
//!
//! Answers are `{"ok": …}`, `{"error": "…"}` for errors of the crate, `{"panic": "…"}` where it panicked.

mod values;
mod verdicts;

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use array_format::{ArrayFile, DType, FileConfig, Lz4Codec, NoCompression, TimestampNs, ZstdCodec};
use ndarray::{ArrayView, IxDyn};
use object_store::{ObjectStore, local::LocalFileSystem, path::Path};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use values::{names, numbers, text};

pub type Outcome = Result<Value, Box<dyn std::error::Error>>;

fn main() -> std::io::Result<()> {
    // Panics are answers here, not messages.
    std::panic::set_hook(Box::new(|_| ()));
    let mut peer = Peer { runtime: Builder::new_current_thread().build()?, file: None };
    for line in std::io::stdin().lock().lines() {
        let answer = guarded(|| peer.handle(&serde_json::from_str(&line?)?));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn guarded(work: impl FnOnce() -> Outcome) -> Value {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => json!({ "ok": value }),
        Ok(Err(error)) => json!({ "error": error.to_string() }),
        Err(cause) => {
            let message = cause.downcast_ref::<String>().cloned();
            let message = message.or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()));
            json!({ "panic": message.unwrap_or_default() })
        }
    }
}

/// Runs a piece of code with `$type` standing for the Rust type of a data type's name.
macro_rules! typed {
    ($dtype:expr, $type:ident => $code:expr) => {
        typed!($dtype, $type => $code, "int8" i8, "int16" i16, "int32" i32, "int64" i64, "uint8" u8, "uint16" u16,
            "uint32" u32, "uint64" u64, "float32" f32, "float64" f64, "timestamp_ns" TimestampNs, "string" String,
            "binary" Vec<u8>)
    };
    ($dtype:expr, $type:ident => $code:expr, $($name:literal $rust:ty),*) => {
        match $dtype {
            $($name => {
                type $type = $rust;
                $code
            })*
            other => Err(format!("the crate has no element type for {other}").into()),
        }
    };
}

struct Peer {
    runtime: Runtime,
    file: Option<ArrayFile>,
}

impl Peer {
    fn handle(&mut self, command: &Value) -> Outcome {
        match text(command, "do") {
            "create" => self.open(command, true),
            "open" => self.open(command, false),
            "define" => self.define(command),
            "write" => self.write(command),
            "attribute" => {
                let value = values::attribute(&command["value"])?;
                self.file()?.set_attribute(text(command, "name"), text(command, "key"), value)?;
                Ok(Value::Null)
            }
            "delete" => {
                self.file()?.delete(text(command, "name"))?;
                Ok(Value::Null)
            }
            "flush" => {
                let file = self.file.as_mut().ok_or("no file is open")?;
                Ok(self.runtime.block_on(file.flush()).map(|()| Value::Null)?)
            }
            "compact" => {
                let file = self.file.as_mut().ok_or("no file is open")?;
                Ok(self.runtime.block_on(file.compact()).map(|()| Value::Null)?)
            }
            "dump" => self.dump(&names(command, "keys")),
            "verdicts" => verdicts::judge(&self.runtime, text(command, "path")),
            other => Err(format!("unknown command {other}").into()),
        }
    }

    fn file(&mut self) -> Result<&mut ArrayFile, &'static str> {
        self.file.as_mut().ok_or("no file is open")
    }

    fn open(&mut self, command: &Value, create: bool) -> Outcome {
        self.file = None;
        let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(text(command, "folder"))?);
        let path = Path::from(text(command, "file"));
        macro_rules! open_with {
            ($codec:expr) => {{
                let mut config = FileConfig::new($codec);
                if let Some(bytes) = command["blockBytes"].as_u64() {
                    config.block_target_size = bytes as usize;
                }
                if create {
                    self.runtime.block_on(ArrayFile::create(store, path, config))?
                } else {
                    self.runtime.block_on(ArrayFile::open(store, path, config))?
                }
            }};
        }
        self.file = Some(match text(command, "codec") {
            "none" => open_with!(NoCompression),
            "zstd" => open_with!(ZstdCodec::default()),
            _ => open_with!(Lz4Codec),
        });
        Ok(Value::Null)
    }

    fn define(&mut self, command: &Value) -> Outcome {
        let (name, dimensions) = (text(command, "name"), names(command, "dimensionNames"));
        let (shape, chunks) = (numbers(command, "shape"), numbers(command, "chunkShape"));
        let fill = values::fill(&command["fillValue"])?;
        let file = self.file()?;
        typed!(text(command, "dtype"), T => {
            file.define_array::<T>(name, dimensions, shape, Some(chunks), fill)?;
            Ok(Value::Null)
        })
    }

    /// `data` holds the elements as a chunk's payload.
    fn write(&mut self, command: &Value) -> Outcome {
        let (start, shape) = (numbers(command, "start"), numbers(command, "shape"));
        let bytes = hex::decode(text(command, "data"))?;
        let file = self.file.as_mut().ok_or("no file is open")?;
        typed!(text(command, "dtype"), T => {
            let elements = <T as array_format::ArrayElement>::decode_chunk(&bytes);
            let data = ArrayView::from_shape(IxDyn(&shape), &elements)?;
            self.runtime.block_on(file.write_array::<T>(text(command, "name"), start, data))?;
            Ok(Value::Null)
        })
    }

    /// All arrays with their values, statistics, and attributes of the given names.
    fn dump(&mut self, keys: &[String]) -> Outcome {
        let file = self.file.as_ref().ok_or("no file is open")?;
        let arrays = file.list_arrays().into_iter().map(|array| {
            let attributes = keys.iter().filter_map(|key| {
                let value = file.get_attribute(&array.name, key).ok().flatten()?;
                Some((key.clone(), values::from_attribute(value)))
            });
            json!({
                "name": array.name,
                "dtype": values::dtype_name(&array.dtype),
                "shape": array.shape,
                "chunkShape": array.chunk_shape,
                "dimensionNames": array.dimension_names,
                "fillValue": array.fill_value.as_ref().map(values::from_fill),
                "values": guarded(|| self.read(file, &array.name, &array.dtype)),
                "attributes": attributes.collect::<serde_json::Map<_, _>>(),
                "stats": file.array_stats(&array.name).map(values::from_stats),
            })
        });
        Ok(json!({ "layers": file.num_layers(), "arrays": arrays.collect::<Vec<_>>() }))
    }

    /// All elements, as a chunk's payload.
    fn read(&self, file: &ArrayFile, name: &str, dtype: &DType) -> Outcome {
        typed!(values::dtype_name(dtype), T => {
            let array = self.runtime.block_on(file.read_array::<T>(name, vec![], vec![]))?;
            let elements: Vec<T> = array.iter().cloned().collect();
            Ok(hex::encode(<T as array_format::ArrayElement>::encode_chunk(&elements)).into())
        })
    }
}
