use crate::{BUILTIN, Script};

#[test]
fn the_built_in_scripts_are_read() {
    for name in BUILTIN {
        let script = Script::parse(Script::builtin(name).unwrap(), name).unwrap();
        assert_eq!(Script::from_json(&script.to_json()).unwrap().to_json(), script.to_json());
    }
}
