#![no_main]

#[path = "../../tests/common/model_bytes.rs"]
mod model_bytes;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    model_bytes::model_file(input);
});
