//! Writes Zarr arrays with zarrs, as `FOLDER/cases.json` says: of each its path, its metadata, and the boxes that are written,
//! whose elements are texts, or bytes of `FOLDER/elements.bin`, in C order.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset};
use zarrs::filesystem::FilesystemStore;

fn numbers(value: &Value) -> Result<Vec<u64>, Box<dyn Error>> {
    Ok(serde_json::from_value(value.clone())?)
}

fn write(store: &Arc<FilesystemStore>, case: &Value, elements: &[u8]) -> Result<(), Box<dyn Error>> {
    let metadata: ArrayMetadata = serde_json::from_value(case["metadata"].clone())?;
    let path = case["path"].as_str().ok_or("a case without a path")?;
    let array = Array::new_with_metadata(store.clone(), path, metadata)?;
    array.store_metadata()?;
    for part in case["parts"].as_array().ok_or("a case without parts")? {
        let subset = ArraySubset::new_with_start_shape(numbers(&part["start"])?, numbers(&part["shape"])?)?;
        if part["texts"].is_array() {
            let texts: Vec<String> = serde_json::from_value(part["texts"].clone())?;
            array.store_array_subset(&subset, texts)?;
        } else {
            let [offset, length] = numbers(&part["bytes"])?[..] else { return Err("bytes are an offset and a length".into()) };
            let bytes = elements[offset as usize..(offset + length) as usize].to_vec();
            array.store_array_subset(&subset, ArrayBytes::new_flen(bytes))?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("cases.json"))?)?;
    let elements = std::fs::read(folder.join("elements.bin"))?;
    let store = Arc::new(FilesystemStore::new(&folder)?);
    for case in &cases {
        write(&store, case, &elements).map_err(|error| format!("{case}: {error}"))?;
    }
    Ok(())
}
