//! The Rust crate array-format from 0.15 on, whose files are written once, as a peer of tests: one JSON command per line on stdin, one JSON
//! answer per line on stdout, as the program in `../rust` has them.

mod values;

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use array_format::writer::{ArrayWriter, WriterConfig};
use array_format::{
    ArrayElement, ArrayFile, ArrayInfo, DType, FillValue, Lz4Codec, NoCompression, ReadConfig, ZstdCodec, timestamp::TimestampNs,
};
use ndarray::{ArrayView, IxDyn};
use object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory, path::Path};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use values::{names, numbers, text};

type Outcome = Result<Value, Box<dyn std::error::Error>>;

/// Elements of boolean arrays, for which the crate has no type of its own.
#[derive(Clone)]
struct Bool(u8);

impl ArrayElement for Bool {
    const DTYPE: DType = DType::Bool;

    fn encode_chunk(values: &[Self]) -> Vec<u8> {
        values.iter().map(|value| value.0).collect()
    }

    fn decode_chunk(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| Bool(byte)).collect()
    }

    fn fill_element(fill: Option<&FillValue>) -> Self {
        Bool(u8::from(matches!(fill, Some(FillValue::Bool(true)))))
    }
}

fn main() -> std::io::Result<()> {
    // Panics are answers here, not messages.
    std::panic::set_hook(Box::new(|_| ()));
    let mut peer = Peer { runtime: Builder::new_current_thread().build()?, file: None, writer: None };
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
        typed!($dtype, $type => $code, "bool" Bool, "int8" i8, "int16" i16, "int32" i32, "int64" i64, "uint8" u8,
            "uint16" u16, "uint32" u32, "uint64" u64, "float32" f32, "float64" f64, "timestamp_ns" TimestampNs,
            "string" String, "binary" Vec<u8>)
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
    writer: Option<ArrayWriter>,
}

impl Peer {
    fn handle(&mut self, command: &Value) -> Outcome {
        match text(command, "do") {
            "create" => self.create(command),
            "define" => self.define(command),
            "write" => self.write(command),
            "attribute" => {
                let value = values::attribute(&command["value"])?;
                self.writer()?.set_attribute(text(command, "name"), text(command, "key"), value)?;
                Ok(Value::Null)
            }
            "copy" => self.copy(),
            "finish" => {
                let (store, path) = place(command)?;
                let writer = self.writer.take().ok_or("no writer is open")?;
                self.file = Some(self.runtime.block_on(writer.finish(store, path))?);
                Ok(Value::Null)
            }
            "open" => {
                let (store, path) = place(command)?;
                self.file = Some(self.runtime.block_on(ArrayFile::open(store, path, ReadConfig::default()))?);
                Ok(Value::Null)
            }
            "dump" => self.dump(),
            "verdicts" => self.verdicts(text(command, "path")),
            other => Err(format!("unknown command {other}").into()),
        }
    }

    fn writer(&mut self) -> Result<&mut ArrayWriter, &'static str> {
        self.writer.as_mut().ok_or("no writer is open")
    }

    fn create(&mut self, command: &Value) -> Outcome {
        macro_rules! with {
            ($codec:expr) => {{
                let mut config = WriterConfig::new($codec);
                if let Some(bytes) = command["blockBytes"].as_u64() {
                    config.block_target_size = bytes as usize;
                }
                ArrayWriter::new(config)
            }};
        }
        self.writer = Some(match text(command, "codec") {
            "none" => with!(NoCompression),
            "zstd" => with!(ZstdCodec::default()),
            _ => with!(Lz4Codec),
        });
        Ok(Value::Null)
    }

    fn define(&mut self, command: &Value) -> Outcome {
        let (name, dimensions) = (text(command, "name"), names(command, "dimensionNames"));
        let (shape, chunks) = (numbers(command, "shape"), numbers(command, "chunkShape"));
        let fill = values::fill(&command["fillValue"])?;
        let writer = self.writer()?;
        typed!(text(command, "dtype"), T => {
            writer.define_array::<T>(name, dimensions, shape, Some(chunks), fill)?;
            Ok(Value::Null)
        })
    }

    /// `data` holds the elements as a chunk's payload.
    fn write(&mut self, command: &Value) -> Outcome {
        let (start, shape) = (numbers(command, "start"), numbers(command, "shape"));
        let bytes = hex::decode(text(command, "data"))?;
        let writer = self.writer()?;
        typed!(text(command, "dtype"), T => {
            let elements = <T as ArrayElement>::decode_chunk(&bytes);
            let data = ArrayView::from_shape(IxDyn(&shape), &elements)?;
            writer.write_array::<T>(text(command, "name"), start, data)?;
            Ok(Value::Null)
        })
    }

    /// Copies all arrays of the file that is open into the writer.
    fn copy(&mut self) -> Outcome {
        let file = self.file.as_ref().ok_or("no file is open")?;
        let writer = self.writer.as_mut().ok_or("no writer is open")?;
        for info in file.arrays() {
            self.runtime.block_on(writer.copy_array(file, &info.name))?;
        }
        Ok(Value::Null)
    }

    /// All arrays with their values, statistics and attributes.
    fn dump(&mut self) -> Outcome {
        let file = self.file.as_ref().ok_or("no file is open")?;
        let arrays = file.arrays().iter().map(|array| {
            let attributes = file.attributes(&array.name).into_iter().flatten();
            let attributes = attributes.map(|(key, value)| json!([key.as_str(), values::from_attribute(value)]));
            json!({
                "name": array.name.as_str(),
                "dtype": values::dtype_name(&array.dtype),
                "shape": array.shape,
                "chunkShape": array.chunk_shape,
                "dimensionNames": array.dimension_names,
                "fillValue": array.fill_value.as_ref().map(values::from_fill),
                "values": guarded(|| self.read(file, array)),
                "attributes": attributes.collect::<Vec<_>>(),
                "chunks": array.written_chunks().collect::<Vec<_>>(),
                "stats": file.array_stats(&array.name).map(values::from_stats),
            })
        });
        Ok(arrays.collect::<Vec<_>>().into())
    }

    /// All elements, as a chunk's payload.
    fn read(&self, file: &ArrayFile, array: &ArrayInfo) -> Outcome {
        typed!(values::dtype_name(&array.dtype), T => {
            let array = self.runtime.block_on(file.read_array::<T>(&array.name, vec![], vec![]))?;
            let elements: Vec<T> = array.iter().cloned().collect();
            Ok(hex::encode(<T as ArrayElement>::encode_chunk(&elements)).into())
        })
    }

    /// Which of many files the crate opens. A batch is a sequence of files, each with its length in front (u32, little-endian). The answer
    /// has a letter for each: `a`ccepted, `r`ejected, `p`anicked.
    fn verdicts(&self, path: &str) -> Outcome {
        let batch = std::fs::read(path)?;
        let mut rest = &batch[..];
        let mut verdicts = String::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (file, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("the batch is cut off")?;
            rest = after;
            let opened = catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(opens(file))));
            verdicts.push(match opened {
                Ok(true) => 'a',
                Ok(false) => 'r',
                Err(_) => 'p',
            });
        }
        Ok(verdicts.into())
    }
}

async fn opens(file: &[u8]) -> bool {
    let store = Arc::new(InMemory::new());
    let path = Path::from("t.af");
    store.put(&path, file.to_vec().into()).await.expect("memory takes everything");
    let config = ReadConfig { cache_capacity: 0, io_cache_capacity: 0, cache: None };
    ArrayFile::open(store as Arc<dyn ObjectStore>, path, config).await.is_ok()
}

fn place(command: &Value) -> Result<(Arc<dyn ObjectStore>, Path), Box<dyn std::error::Error>> {
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(text(command, "folder"))?);
    Ok((store, Path::from(text(command, "file"))))
}
