#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| thinktime_recorder::fuzzing::records(data));
