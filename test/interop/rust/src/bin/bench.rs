//! The Rust crate array-format as a peer of bench/suites/container.mjs: one JSON command per line on stdin; the answer is a line with the
//! milliseconds the job took here and a number that tells whether it did the same, `null` where there is none.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use array_format::{ArrayElement, ArrayFile, FileConfig, Lz4Codec};
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
            let file = runtime.block_on(open(folder, FileConfig::new(Lz4Codec)))?;
            Ok((since(start), Some(file.num_layers() as f64)))
        }
        "read" => {
            let file = runtime.block_on(open(folder, FileConfig::new(Lz4Codec)))?;
            let start = Instant::now();
            let array = runtime.block_on(file.read_array::<f32>(NAME, vec![], vec![]))?;
            Ok((since(start), Some(array[[array.shape()[0] - 1, 0]].into())))
        }
        "chunks" => {
            let rows: Vec<usize> = serde_json::from_value(command["rows"].clone())?;
            let file = runtime.block_on(open(folder, uncached()))?;
            let columns = file.get_array(NAME)?.layout.shape[1] as usize;
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
            let mut file = runtime.block_on(ArrayFile::create(store, path, FileConfig::new(Lz4Codec)))?;
            let start = Instant::now();
            file.define_array::<f32>(NAME, vec![], data.shape().to_vec(), Some(vec![1, chunk]), None)?;
            runtime.block_on(file.write_array(NAME, vec![0, 0], data))?;
            runtime.block_on(file.flush())?;
            Ok((since(start), None))
        }
        "compact" => {
            let mut file = runtime.block_on(open(folder, FileConfig::new(Lz4Codec)))?;
            let start = Instant::now();
            runtime.block_on(file.compact())?;
            Ok((since(start), Some(file.num_layers() as f64)))
        }
        "element" => {
            let index = command["index"].as_u64().ok_or("no index")? as usize;
            let start = Instant::now();
            let file = runtime.block_on(open(folder, FileConfig::new(Lz4Codec)))?;
            let array = runtime.block_on(file.read_array::<f32>(NAME, vec![index], vec![1]))?;
            Ok((since(start), Some(array[[0]].into())))
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

async fn open(folder: &str, config: FileConfig<Lz4Codec>) -> Outcome<ArrayFile> {
    let (store, path) = place(folder)?;
    Ok(ArrayFile::open(store, path, config).await?)
}

fn uncached() -> FileConfig<Lz4Codec> {
    FileConfig { cache_capacity: 0, io_cache_capacity: 0, ..FileConfig::new(Lz4Codec) }
}
