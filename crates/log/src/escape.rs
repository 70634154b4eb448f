//! Text from outside made safe to show on a terminal.

use std::fmt::Write;

/// `text` on one line: control characters, direction marks and line separators as `\x1b`, `\u202e`.
///
/// A path may contain them, and would otherwise move the cursor or add a line to a message. The Python
/// commands escape the same characters in the same way.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_hidden(character) {
            shown.push(character);
            continue;
        }
        // Writing to a string cannot fail.
        let _ = match character as u32 {
            code @ 0..0x100 => write!(shown, "\\x{code:02x}"),
            code @ 0x100..0x1_0000 => write!(shown, "\\u{code:04x}"),
            code => write!(shown, "\\U{code:08x}"),
        };
    }
    shown
}

/// True for a character that acts on what shows it: Unicode's categories Cc, Zl, Zp, and Cf but for the
/// joiners and the soft hyphen, which spelling needs.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        let path = "p\u{8}\u{1b}[31m\u{7}\u{9b}\u{202e}\u{2066}\u{2028}\u{2029}\0\r\n* forged\u{e0001}";
        let shown = r"p\x08\x1b[31m\x07\x9b\u202e\u2066\u2028\u2029\x00\x0d\x0a* forged\U000e0001";
        assert_eq!(escaped(path), shown);
    }

    #[test]
    fn names_of_all_scripts_stay() {
        for name in ["Jürgen 数据 👩\u{200d}💻 لا", "co\u{ad}op", r"a\x1b", "[red]"] {
            assert_eq!(escaped(name), name);
        }
    }
}
