use proptest::prelude::*;
use serde_json::json;

use crate::{BUILTIN, SYSTEMS, Script, Wait};

const COMMANDS: &str = r#"
[commands.edm.multics]
cpu = 0.06
pages = 32
segments = 8
lines = 1

[commands.fortran]
heavy = true
multics = { cpu = "exponential(mean=3)", pages = 90, segments = 24, lines = 2, first_output = 0.5 }
"#;

/// A script with `top` above the commands, and `interactions` below.
fn text(top: &str, interactions: &str) -> String {
    format!("{top}{COMMANDS}{interactions}")
}

const TOP: &str = "name = \"mine\"\nthink = 30\n";
const EDM: &str = "\n[[interaction]]\ncommand = \"edm\"\ntypes = \"edm a\"\nwait_for = \"Edit.\"\n";

fn script(interactions: &str) -> Script {
    Script::parse(&text(TOP, interactions), "my.toml").unwrap()
}

fn error(top: &str, interactions: &str) -> String {
    Script::parse(&text(top, interactions), "my.toml").unwrap_err().to_string()
}

fn means(script: &Script, names: &[&str]) -> Vec<Vec<f64>> {
    let demands = script.demands("multics", names).unwrap();
    demands.iter().map(|of| of.iter().map(|demand| demand.mean()).collect()).collect()
}

#[test]
fn what_an_interaction_says_goes_before_its_command_and_the_script() {
    let own = "\n[[interaction]]\ncommand = \"fortran\"\ntypes = \"fortran a\"\nwait = false\n\
               think = { kind = \"uniform\", low = 5, high = 15 }\nmultics = { cpu = 1, lines = 0 }\nrepeat = 2\n";
    let script = script(&format!("{EDM}{own}"));
    assert_eq!(script.interactions.len(), 3);
    let [edm, fortran, again] = script.interactions.as_slice() else { panic!("three") };
    assert_eq!(fortran, again);
    assert_eq!((&edm.wait, &fortran.wait), (&Wait::Text("Edit.".into()), &Wait::No));
    assert_eq!((edm.heavy, fortran.heavy), (false, true));
    assert_eq!((edm.think.mean(), fortran.think.mean()), (30.0, 10.0));
    let names = ["lines", "cpu", "pages", "first_output"];
    let expected = [vec![1.0, 0.06, 32.0, 1.0], vec![0.0, 1.0, 90.0, 0.5], vec![0.0, 1.0, 90.0, 0.5]];
    assert_eq!(means(&script, &names), expected);
}

#[test]
fn the_manifest_holds_the_whole_script() {
    let mine = script(&EDM.repeat(2));
    let back = Script::from_json(&mine.to_json()).unwrap();
    assert_eq!(back.to_json(), mine.to_json());
    assert_eq!(means(&back, &["cpu", "first_output"]), means(&mine, &["cpu", "first_output"]));
    assert_eq!(mine.to_json()["interaction"][1]["multics"]["pages"], json!(32.0));
    for name in BUILTIN {
        let built_in = Script::from_json(&json!(name)).unwrap();
        assert_eq!(Script::from_json(&built_in.to_json()).unwrap().to_json(), built_in.to_json());
    }
    let unknown = Script::from_json(&json!("mftn4")).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "script: \"mftn4\": there is no such built-in script; did you mean \"mftn3\"? there are: mftn3, 6mad1, \
         mftn3-linux, login-node, shell-admin, data-science"
    );
}

/// Run time and counts as in the memorandum of 1969; half of the interactions that wait are in the first half.
#[test]
fn the_standard_scripts_have_the_totals_of_the_memorandum() {
    for (name, system, total) in [("mftn3", "multics", 20.46), ("6mad1", "ctss", 42.96)] {
        let script = Script::from_json(&json!(name)).unwrap();
        let waiting = |steps: &[crate::Step]| steps.iter().filter(|step| step.waits()).count();
        assert_eq!((script.interactions.len(), waiting(&script.interactions)), (66, 34));
        assert_eq!(waiting(&script.interactions[..33]), 17);
        assert!(
            script.interactions.iter().all(|step| step.think.fixed().is_some_and(|s| s.seconds() == 30.0))
        );
        let run = script.demands(system, &["cpu"]).unwrap();
        let sum: f64 = run.iter().map(|of| of[0].mean()).sum();
        assert!((sum - total).abs() < 1e-9, "{name}: {sum}");
        for (other, _) in SYSTEMS {
            assert_eq!(script.check_demands(other).is_ok(), *other == system, "{name} on {other}");
        }
    }
}

/// The twin for Linux does what the standard script does, with and without waiting at the same places as far as its
/// editor answers.
#[test]
fn the_twin_for_linux_is_a_twin() {
    let of = |name: &str| Script::from_json(&json!(name)).unwrap();
    let (multics, linux) = (of("mftn3"), of("mftn3-linux"));
    let waiting = |script: &Script, half: std::ops::Range<usize>| {
        let steps = script.interactions[half].iter().filter(|step| step.waits());
        steps.map(|step| step.command.clone()).collect::<Vec<_>>()
    };
    for half in [0..33, 33..66] {
        let here = waiting(&linux, half.clone());
        let named = waiting(&multics, half).into_iter().map(|command| match command.as_str() {
            "edm" => "ed".to_owned(),
            "fortran" => "cc".into(),
            "a.-prime & prime" => "run".into(),
            "setacl" => "setfacl".into(),
            _ => command,
        });
        assert_eq!(here, named.collect::<Vec<_>>());
    }
    assert!(linux.interactions.iter().all(|step| step.think.fixed().is_some_and(|s| s.seconds() == 30.0)));
    // No script names a file outside a home, or a variable that it does not have: `parse` refuses both.
    for name in crate::SIMULATED {
        assert!(of(name).terminal.is_none(), "{name}");
    }
    for name in BUILTIN.iter().filter(|name| !crate::SIMULATED.contains(name)) {
        assert!(of(name).terminal.is_some(), "{name}");
    }
}

fn edited(from: &str, to: &str) -> String {
    error(TOP, &EDM.replace(from, to))
}

fn check<const N: usize>(cases: [(String, &str); N]) {
    let wrong: Vec<_> = cases.iter().filter(|(message, expected)| message != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_wrong_with_an_interaction_is_named_with_its_line() {
    check([
        (
            edited("\"edm\"", "\"emd\""),
            "my.toml, line 15: interaction 1 (emd): command: there is no command \"emd\"; did you mean \"edm\"? there \
             are: edm, fortran; or add [commands.emd]",
        ),
        (
            edited("wait_for = \"Edit.\"", ""),
            "my.toml, line 14: interaction 1 (edm): has no wait_for; give wait_for = \"text of the reply\", or \
             wait = false for a user who does not wait",
        ),
        (
            edited("Edit.", " "),
            "my.toml, line 17: interaction 1 (edm): wait_for: is empty; give wait_for \
             = \"text of the reply\", or wait = false for a user who does not wait",
        ),
        (
            edited("types", "wait = false\ntypes"),
            "my.toml, line 18: interaction 1 (edm): wait_for: is given together with wait = false; leave one of \
             them out",
        ),
        (
            edited("wait_for", "waits_for"),
            "my.toml, line 17: interaction 1 (edm): \"waits_for\" is an unknown key; did you mean \"wait_for\"? there are: \
             command, types, wait_for, wait_pattern, wait_silence, wait, time_out, think, repeat, multics, ctss",
        ),
        (
            edited("[[interaction]]", "[interaction]"),
            "my.toml, line 14: interaction: invalid type: map, expected a sequence; give one [[interaction]] or more, each with command, \
             types, and wait_for or wait = false",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_a_value_is_named_with_its_line() {
    check([
        (
            edited("types", "think = -5\ntypes"),
            "my.toml, line 16: interaction 1 (edm): think: -5: is out of range; give a number from 0 to \
             1000000000 [s]",
        ),
        (
            edited("types", "think = { kind = \"exponential\", mean = nan }\ntypes"),
            "my.toml, line 16: interaction 1 (edm): think: mean: nan is not a finite number; give a number \
             that is not negative, a short form such as exponential(mean=20), or a table such as {kind = \
             \"exponential\", mean = 20}",
        ),
        (
            edited("types", "multics = { pages = \"exponential(mean=-3)\" }\ntypes"),
            "my.toml, line 16: interaction 1 (edm): multics: pages: exponential: mean = -3: is out of range; \
             give a number above 0 and at most 1000000000 [pages]",
        ),
        (
            edited("types", "multics = { first_output = \"uniform(low=0,high=2)\" }\ntypes"),
            "my.toml, line 16: interaction 1 (edm): multics: first_output: it can be above 1; give 0 to 1: part of \
             the work that is done when the reply begins; 1: the reply begins at the end",
        ),
        (
            edited("types = \"edm a\"", "types = 3"),
            "my.toml, line 16: interaction 1 (edm): types: invalid type: integer `3`, expected a string; \
             give the line that the user types, in quotation marks",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_the_whole_is_named_with_its_line() {
    check([
        (
            error(&format!("{TOP}interaction = []\n"), ""),
            "my.toml, line 3: interaction: is empty; give one [[interaction]] or more, each with command, \
             types, and wait_for or wait = false",
        ),
        (
            error("name = \"\"\nthink = 30\n", EDM),
            "my.toml, line 1: name: is empty; give a name, such as \"mftn3\"",
        ),
        (
            error(TOP, ""),
            "my.toml, line 1: the script: interaction is missing; give one [[interaction]] or more, each with \
             command, types, and wait_for or wait = false",
        ),
        (
            error("name = \"mine\"\n", EDM),
            "my.toml, line 13: interaction 1 (edm): has no think time; give it here, or at the top of the script \
             for all interactions",
        ),
        (
            error("name = \"mine\"\nthink = 1979-05-27\n", EDM),
            "my.toml, line 2: think: 1979-05-27 is a date; give a number that is not negative, a short form such \
             as exponential(mean=20), or a table such as {kind = \"exponential\", mean = 20}",
        ),
        (
            error("name = \"mine\n", EDM),
            "my.toml, line 1: the text: is not TOML: invalid basic string, expected `\"`; see https://toml.io for \
             the notation",
        ),
    ]);
}

const TERMINAL: &str = r#"
name = "shell"
think = 1

[terminal]
shell = "bash"
needs = ["cc", "g++"]
typing = "exponential(mean=0.2)"
time_out = 5
variables = { project = ["alpha", "beta"] }

[[terminal.file]]
path = "src/main.c"
text = "main() { return {{user}}; }\n"

[commands]
ed = {}

[[interaction]]
command = "ed"
types = "ed src/{{project}}.c {{"
wait_pattern = '^[0-9]+\r?$'
time_out = 2.5

[[interaction]]
command = "ed"
types = "q"

[[interaction]]
command = "ed"
types = "top"
wait_silence = 0.5
"#;

fn terminal_with(from: &str, to: &str) -> String {
    assert!(TERMINAL.contains(from), "{from}");
    match Script::parse(&TERMINAL.replacen(from, to, 1), "my.toml") {
        Err(error) => error.to_string(),
        Ok(_) => "accepted".into(),
    }
}

#[test]
fn a_script_for_a_terminal_has_the_defaults_of_its_table() {
    let script = Script::parse(TERMINAL, "my.toml").unwrap();
    let waits: Vec<&Wait> = script.interactions.iter().map(|step| &step.wait).collect();
    assert_eq!(waits, [&Wait::Pattern(r"^[0-9]+\r?$".into()), &Wait::Prompt, &Wait::Silence(0.5)]);
    let times_out: Vec<_> = script.interactions.iter().map(|step| step.time_out_s).collect();
    assert_eq!(times_out, [Some(2.5), Some(5.0), Some(5.0)]);
    let terminal = script.terminal.as_ref().unwrap();
    let filled = |user| terminal.filled(&script.interactions[0].types, user);
    // An opening without an end is text, and after the last value comes the first.
    assert_eq!(
        [filled(1), filled(2), filled(3)].map(|line| line.replace("src/", "")),
        ["ed alpha.c {{", "ed beta.c {{", "ed alpha.c {{"]
    );
    assert_eq!(terminal.filled(&terminal.files[0].text, 7), "main() { return 7; }\n");
    let back = Script::from_json(&script.to_json()).unwrap();
    assert_eq!(back.to_json(), script.to_json());
    assert_eq!(back.terminal, script.terminal);
}

#[test]
fn what_is_wrong_with_a_terminal_is_named_with_its_line() {
    check([
        (
            terminal_with("\"cc\"", "\"cc; id\""),
            "my.toml, line 7: terminal: needs: \"cc; id\" is not the name of a program; give the name of a program, such as \
             \"git\", without a folder",
        ),
        (
            terminal_with("src/main.c", "../main.c"),
            "my.toml, line 13: terminal: file[0]: path: \"../main.c\" is not a path below the home; give a path below the user's \
             home, such as \"src/main.c\": letters, digits, and . _ - /",
        ),
        (
            terminal_with("{{user}}", "{{usr}}"),
            "my.toml, line 14: terminal: file[0]: text: there is no variable \"usr\"; did you mean \"user\"? there are: user, \
             project; or add it to [terminal.variables]",
        ),
        (
            terminal_with("src/{{project}}.c {{", "{{projekt}}"),
            "my.toml, line 21: interaction 1 (ed): types: there is no variable \"projekt\"; did you mean \"project\"? there are: \
             user, project; or add it to [terminal.variables]",
        ),
        (
            terminal_with("\"bash\"", "\"zsh\""),
            "my.toml, line 6: terminal: shell: unknown variant `zsh`, expected `sh` or `bash`; give \"sh\" or \"bash\"",
        ),
        (
            terminal_with("wait_silence = 0.5", "wait_silence = 0"),
            "my.toml, line 32: interaction 3 (ed): wait_silence: 0 is out of range; give a number above 0, at most 86400 [s]",
        ),
        (
            terminal_with("time_out = 2.5", "wait_silence = 0.5"),
            "my.toml, line 23: interaction 1 (ed): wait_silence: is given together with wait_pattern; leave one of them out",
        ),
        (
            terminal_with("wait_silence = 0.5", "wait_silence = 0.5\nwait = false"),
            "my.toml, line 32: interaction 3 (ed): wait_silence: is given together with wait = false; leave one of them out",
        ),
        (
            edited("wait_for = \"Edit.\"", "wait_silence = 1"),
            "my.toml, line 17: interaction 1 (edm): wait_silence: means something on a real terminal only; add [terminal] for a \
             script that is played on a real terminal, or leave it out",
        ),
    ]);
    for path in ["/etc/passwd", "a/../../b", "~/x", "", "a//b/", "-x", "a b", "a'b", "$HOME", "./a"] {
        let message = terminal_with("src/main.c", path);
        assert!(message.starts_with("my.toml, line 13: terminal: file[0]: path: "), "{path}: {message}");
    }
    let pattern = terminal_with(r"^[0-9]+\r?$", "(");
    assert!(
        pattern.contains("line 22: interaction 1 (ed): wait_pattern: is not a regular expression"),
        "{pattern}"
    );
    assert!(terminal_with(r"^[0-9]+\r?$", "a*").contains("matches a reply that has not begun"));
}

#[test]
fn a_demand_forgotten_is_found_where_it_is_needed() {
    let ctss = "\n[commands.edm.ctss]\ncpu = 1\nwords = 9000\ndisk = 0\nlines = 1\n";
    assert_eq!(
        error(TOP, &format!("{ctss}{EDM}{}", EDM.replace("\"edm\"", "\"fortran\""))),
        "my.toml, line 25: interaction 2 (fortran): has no demand cpu on ctss; give it in [commands.fortran.ctss]"
    );
    let message = script(EDM).check_demands("ctss").unwrap_err().to_string();
    assert!(
        message.starts_with("my.toml, line 14: interaction 1 (edm): has no demand cpu on ctss"),
        "{message}"
    );
    let short = COMMANDS.replace("pages = 32\n", "");
    let message = Script::parse(&format!("{TOP}{short}{EDM}"), "my.toml").unwrap_err().to_string();
    assert!(message.contains("line 13: interaction 1 (edm): has no demand pages on multics"), "{message}");
}

/// Any value, with the words that scripts are made of.
fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let words = [
        "name",
        "think",
        "commands",
        "interaction",
        "command",
        "types",
        "wait_for",
        "wait",
        "repeat",
        "heavy",
        "multics",
        "cpu",
        "terminal",
        "shell",
        "needs",
        "typing",
        "time_out",
        "variables",
        "file",
        "path",
        "text",
        "wait_pattern",
        "wait_silence",
    ];
    let word = prop::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        word.clone().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map(word.clone().prop_map(String::from), inner, 0..8)
                .prop_map(serde_json::Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_a_script_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), value in any_value()) {
        let _ = Script::parse(&String::from_utf8_lossy(&bytes), "any");
        let _ = Script::from_json(&value);
    }

    /// A script with some of its text replaced: what is still a script is written and read back.
    #[test]
    fn a_damaged_script_is_a_script_or_an_error(
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        on_a_terminal in any::<bool>(),
        put in "[\\[\\]{}=\",.0-9a-z\\n _-]{0,8}",
    ) {
        let whole: Vec<char> = if on_a_terminal { TERMINAL.into() } else { text(TOP, EDM) }.chars().collect();
        let start = at.index(whole.len());
        let end = (start + length).min(whole.len());
        let damaged: String = whole[..start].iter().copied().chain(put.chars()).chain(whole[end..].iter().copied()).collect();
        match Script::parse(&damaged, "any") {
            Ok(script) => prop_assert_eq!(
                Script::from_json(&script.to_json()).map(|back| back.to_json()),
                Ok(script.to_json())
            ),
            Err(error) => prop_assert!(error.line.is_none_or(|line| line <= damaged.lines().count() + 1)),
        }
    }
}
