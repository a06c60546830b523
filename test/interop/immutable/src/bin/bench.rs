//! The Rust crate array-format from 0.15 on as a peer of bench/suites/container.mjs: one JSON command per line on stdin; the answer is a line
//! with the milliseconds the job took here and a number that tells whether it did the same, `null` where there is none.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use array_format::writer::{ArrayWriter, WriterConfig};
use array_format::{ArrayElement, ArrayFile, Lz4Codec, NoCompression, ReadConfig};
use ndarray::{ArrayView, IxDyn};
use object_store::{ObjectStore, local::LocalFileSystem, path::Path};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const NAME: &str = "t";

fn main() -> Outcome<()> {
    let runtime = Builder::new_current_thread().build()?;
    for line in std::io::stdin().lock().lines() {
        let (ms, check) = run(&runtime, &serde_json::from_str(&line?)?)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", json!({ "ms": ms, "check": check }))?;
        out.flush()?;
    }
    Ok(())
}

/// What is not part of the job, such as preparing its data, is done before the clock starts or after it stops.
fn run(runtime: &Runtime, command: &Value) -> Outcome<(f64, Option<f64>)> {
    let folder = command["folder"].as_str().ok_or("no folder")?;
    match command["do"].as_str().ok_or("no job")? {
        "open" => {
            let start = Instant::now();
            let file = runtime.block_on(open(folder, ReadConfig::default()))?;
            Ok((since(start), Some(file.arrays().len() as f64)))
        }
        "index" => {
            let key = command["key"].as_str().ok_or("no key")?;
            let file = runtime.block_on(open(folder, ReadConfig::default()))?;
            let start = Instant::now();
            let index = file.attribute_index(key);
            let ms = since(start);
            Ok((ms, Some(index.iter().filter(|(_, value)| value.is_some()).count() as f64)))
        }
        "arrays" => {
            let file = runtime.block_on(open(folder, ReadConfig::default()))?;
            let names: Vec<String> = file.arrays().iter().map(|array| array.name.to_string()).collect();
            let start = Instant::now();
            let mut check = 0.0;
            for name in &names {
                let array = runtime.block_on(file.read_array::<f32>(name, vec![], vec![]))?;
                check += f64::from(array[[0]]);
            }
            Ok((since(start), Some(check)))
        }
        "read" => {
            let file = runtime.block_on(open(folder, ReadConfig::default()))?;
            let start = Instant::now();
            let array = runtime.block_on(file.read_array::<f32>(NAME, vec![], vec![]))?;
            Ok((since(start), Some(array[[array.shape()[0] - 1, 0]].into())))
        }
        "chunks" => {
            let rows: Vec<usize> = serde_json::from_value(command["rows"].clone())?;
            let config = ReadConfig { cache_capacity: 0, io_cache_capacity: 0, cache: None };
            let file = runtime.block_on(open(folder, config))?;
            let columns = file.array(NAME).ok_or("no array")?.shape[1] as usize;
            let start = Instant::now();
            let mut check = 0.0;
            for row in rows {
                let chunk = runtime.block_on(file.read_array::<f32>(NAME, vec![row, 0], vec![1, columns]))?;
                check += f64::from(chunk[[0, columns - 1]]);
            }
            Ok((since(start), Some(check)))
        }
        "write" => {
            let values = f32::decode_chunk(&std::fs::read(command["data"].as_str().ok_or("no data")?)?);
            let chunk: usize = serde_json::from_value(command["chunk"].clone())?;
            let data = ArrayView::from_shape(IxDyn(&[values.len() / chunk, chunk]), &values)?;
            let (store, path) = place(folder)?;
            let start = Instant::now();
            let mut writer = match command["codec"].as_str() {
                Some("none") => ArrayWriter::new(WriterConfig::new(NoCompression)),
                _ => ArrayWriter::new(WriterConfig::new(Lz4Codec)),
            };
            writer.define_array::<f32>(NAME, vec![], data.shape().to_vec(), Some(vec![1, chunk]), None)?;
            writer.write_array::<f32>(NAME, vec![0, 0], data)?;
            runtime.block_on(writer.finish(store, path))?;
            Ok((since(start), None))
        }
        other => Err(format!("unknown job {other}").into()),
    }
}

fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn place(folder: &str) -> Outcome<(Arc<dyn ObjectStore>, Path)> {
    Ok((Arc::new(LocalFileSystem::new_with_prefix(folder)?), Path::from("a.af")))
}

async fn open(folder: &str, config: ReadConfig) -> Outcome<ArrayFile> {
    let (store, path) = place(folder)?;
    Ok(ArrayFile::open(store, path, config).await?)
}
