#![no_main]

#[allow(dead_code)]
#[path = "../../tests/common/bytes.rs"]
mod bytes;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    bytes::programme(input);
});
