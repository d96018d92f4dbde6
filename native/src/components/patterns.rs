//! Patterns as in a shell, many at once: which groups of them name something. As Python's `fnmatch.translate` reads them.

use rustc_hash::FxHashMap;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// `*`
    Any,
    /// `?`
    One,
    Char(char),
    /// `[a-z_]`, `[!a-z]`
    Of {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Token {
    fn is(&self, given: char) -> bool {
        match self {
            Token::Any => false,
            Token::One => true,
            Token::Char(char) => *char == given,
            Token::Of { negated, ranges } => {
                ranges.iter().any(|&(low, high)| (low..=high).contains(&given)) != *negated
            }
        }
    }
}

#[derive(Debug)]
struct Glob {
    /// What stands before its first special character.
    prefix: String,
    rest: Vec<Token>,
}

impl Glob {
    fn of(pattern: &str) -> Glob {
        let (prefix, mut left) = pattern.split_at(pattern.find(['*', '?', '[']).unwrap_or(pattern.len()));
        let mut rest = Vec::new();
        while let Some(char) = left.chars().next() {
            left = &left[char.len_utf8()..];
            rest.push(match char {
                '*' => Token::Any,
                '?' => Token::One,
                '[' => match class(left) {
                    Some((token, behind)) => {
                        left = behind;
                        token
                    }
                    None => Token::Char('['),
                },
                char => Token::Char(char),
            });
        }
        Glob { prefix: prefix.to_owned(), rest }
    }

    fn fits(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix.as_str()).is_some_and(|rest| fits(&self.rest, rest))
    }
}

/// What is in brackets, and what is behind them; `None` where they are not closed.
fn class(text: &str) -> Option<(Token, &str)> {
    let negated = text.starts_with('!');
    let body = &text[usize::from(negated)..];
    // A bracket that comes first is one of the characters.
    let end = body.char_indices().skip(1).find(|&(_, char)| char == ']').map(|(at, _)| at)?;
    let chars: Vec<char> = body[..end].chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at..] {
            [low, '-', high, ..] => {
                ranges.push((low, high));
                at += 3;
            }
            [one, ..] => {
                ranges.push((one, one));
                at += 1;
            }
            [] => break,
        }
    }
    Some((Token::Of { negated, ranges }, &body[end + 1..]))
}

fn fits(tokens: &[Token], text: &str) -> bool {
    let (mut tokens, mut text) = (tokens, text);
    // Behind the last `*`: what has to fit there, and where that was tried.
    let mut back: Option<(&[Token], &str)> = None;
    loop {
        match (tokens.split_first(), text.chars().next()) {
            (Some((Token::Any, [])), _) | (None, None) => return true,
            (Some((Token::Any, rest)), _) => {
                back = Some((rest, text));
                tokens = rest;
                continue;
            }
            (Some((token, rest)), Some(char)) if token.is(char) => {
                (tokens, text) = (rest, &text[char.len_utf8()..]);
                continue;
            }
            _ => {}
        }
        let Some((rest, from)) = back else { return false };
        let Some(char) = from.chars().next() else { return false };
        let next = &from[char.len_utf8()..];
        back = Some((rest, next));
        (tokens, text) = (rest, next);
    }
}

/// Groups of patterns.
#[derive(Debug, Default)]
pub struct Patterns {
    exact: FxHashMap<String, Vec<u32>>,
    globs: Vec<(u32, Glob)>,
}

impl Patterns {
    /// So many groups, numbered in their order.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a [String]>) -> Patterns {
        let mut made = Patterns::default();
        for (group, patterns) in (0..).zip(groups) {
            for pattern in patterns {
                match pattern.contains(['*', '?', '[']) {
                    true => made.globs.push((group, Glob::of(pattern))),
                    false => made.exact.entry(pattern.clone()).or_default().push(group),
                }
            }
        }
        made
    }

    /// The groups that name this, in order.
    pub fn naming(&self, name: &str) -> Vec<u32> {
        let mut found = self.exact.get(name).cloned().unwrap_or_default();
        found.extend(self.globs.iter().filter(|(_, glob)| glob.fits(name)).map(|(group, _)| *group));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether any does.
    pub fn name(&self, name: &str) -> bool {
        self.exact.contains_key(name) || self.globs.iter().any(|(_, glob)| glob.fits(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pattern: &str, name: &str) -> bool {
        Patterns::of([[pattern.to_owned()].as_slice()]).name(name)
    }

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, name) in [
            ("tcp_ack", "tcp_ack"),
            ("tcp_*", "tcp_"),
            ("*_irq*restore", "_raw_spin_unlock_irqrestore"),
            ("*ab*abc", "ababxabc"),
            ("x?z", "xäz"),
            ("el[01]_irq", "el1_irq"),
            ("[!a-c]_x", "d_x"),
            ("a[]-]", "a-"),
            ("a[]-]", "a]"),
            ("a[b", "a[b"),
            ("", ""),
            ("*", ""),
        ] {
            assert!(named(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("tcp_ack", "tcp_ack_x"),
            ("tcp_*", "tcp"),
            ("*_irq", "_irqs"),
            ("x?z", "xz"),
            ("el[01]_irq", "el2_irq"),
            ("[!a-c]_x", "b_x"),
            ("a[z-a]", "ab"),
        ] {
            assert!(!named(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn groups_are_told_in_their_order() {
        let groups = [vec!["b*".to_owned()], vec!["a".to_owned()], vec!["*b".to_owned(), "b".to_owned()]];
        let made = Patterns::of(groups.iter().map(Vec::as_slice));
        assert_eq!(made.naming("b"), [0, 2]);
        assert_eq!(made.naming("a"), [1]);
        assert!(made.naming("").is_empty());
    }
}
