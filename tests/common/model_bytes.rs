//! The reader of model files, fed with arbitrary bytes: the body of the target `model_file` of `fuzz/`.

/// Files to damage.
const FILES: [&[u8]; 5] = [
    include_bytes!("../fixtures/models/svc.safetensors"),
    include_bytes!("../fixtures/models/svc_sparse.safetensors"),
    include_bytes!("../fixtures/models/svdd_precomputed.safetensors"),
    include_bytes!("../fixtures/models/kernel_pca.safetensors"),
    include_bytes!("../fixtures/models/sampler.safetensors"),
];

/// Bytes as a file, or as changes of one: accepted or refused, nothing else.
pub fn model_file(bytes: &[u8]) -> bool {
    let Some((&first, rest)) = bytes.split_first() else {
        return false;
    };
    let file = match usize::from(first).checked_sub(250) {
        None => changed(FILES[usize::from(first) % FILES.len()], rest),
        Some(_) => rest.to_vec(),
    };
    mercer::persist::check(&file).is_ok()
}

/// Writes a byte somewhere for every three that are given; the last one or two cut the file.
fn changed(file: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let chunks = changes.chunks_exact(3);
    if let [low, high] = *chunks.remainder() {
        let length = usize::from(u16::from_le_bytes([low, high]));
        file.truncate(length.max(1));
    }
    for change in chunks {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[at] = change[2];
    }
    file
}
