//! Which of many files the crate opens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use array_format::{ArrayFile, FileConfig, NoCompression};
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
use tokio::runtime::Runtime;

use crate::Outcome;

/// A batch is a sequence of pairs, a base and statistics, each with its length in front (u32, little-endian; statistics of no bytes are
/// left out). The answer has a letter for each pair: `a`ccepted, `r`ejected, `p`anicked.
pub fn judge(runtime: &Runtime, path: &str) -> Outcome {
    let batch = std::fs::read(path)?;
    let mut rest = &batch[..];
    let mut verdicts = String::new();
    while !rest.is_empty() {
        let (base, stats) = (take(&mut rest)?, take(&mut rest)?);
        let opened = catch_unwind(AssertUnwindSafe(|| runtime.block_on(open(base, stats))));
        verdicts.push(match opened {
            Ok(true) => 'a',
            Ok(false) => 'r',
            Err(_) => 'p',
        });
    }
    Ok(verdicts.into())
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
    let (length, after) = rest.split_first_chunk::<4>().ok_or("the batch is cut off")?;
    let (item, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("the batch is cut off")?;
    *rest = after;
    Ok(item)
}

async fn open(base: &[u8], stats: &[u8]) -> bool {
    let store = Arc::new(InMemory::new());
    let path = Path::from("t.af");
    let mut puts = vec![(path.clone(), base)];
    if !stats.is_empty() {
        puts.push((Path::from("t.stats"), stats));
    }
    for (path, bytes) in puts {
        store.put(&path, bytes.to_vec().into()).await.expect("memory takes everything");
    }
    let config = FileConfig { cache_capacity: 0, io_cache_capacity: 0, ..FileConfig::new(NoCompression) };
    ArrayFile::open(store as Arc<dyn ObjectStore>, path, config).await.is_ok()
}
