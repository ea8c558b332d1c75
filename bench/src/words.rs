//! Arguments of a command line, taken one by one.

use std::str::FromStr;

use anyhow::{anyhow, bail};

/// Arguments not taken yet.
#[derive(Debug)]
pub(crate) struct Words(Vec<String>);

impl Words {
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        Words(words.collect())
    }

    /// Takes the first argument.
    pub(crate) fn command(&mut self) -> Option<String> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// Takes `name`, and returns true if it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Takes `name` and the argument after it.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        if at + 1 == self.0.len() {
            bail!("{name}: expected a value, got nothing");
        }
        let text = self.0.remove(at + 1);
        self.0.remove(at);
        text.parse().map(Some).map_err(|_| anyhow!("{name}: cannot make sense of `{text}`"))
    }

    /// Takes `name` and a list separated by commas.
    pub(crate) fn list<T: FromStr>(&mut self, name: &str) -> anyhow::Result<Option<Vec<T>>> {
        let Some(text) = self.value::<String>(name)? else { return Ok(None) };
        let parsed: Result<Vec<T>, _> = text.split(',').map(str::parse).collect();
        parsed.map(Some).map_err(|_| anyhow!("{name}: cannot make sense of `{text}`"))
    }

    /// Fails if an unknown argument is left.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => bail!("unknown option `{word}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Words {
        Words::new(line.split_whitespace().map(String::from))
    }

    #[test]
    fn options_come_in_any_order() {
        let mut words = words("rates --seconds 2.5 --save --rates 10,20");
        assert_eq!(words.command().as_deref(), Some("rates"));
        assert_eq!(words.list::<u64>("--rates").unwrap(), Some(vec![10, 20]));
        assert_eq!(words.value::<f64>("--seconds").unwrap(), Some(2.5));
        assert!(words.flag("--save"));
        assert!(!words.flag("--save"));
        words.finish().unwrap();
    }

    #[test]
    fn a_missing_or_wrong_value_is_an_error() {
        assert!(words("--rate").value::<f64>("--rate").is_err());
        assert!(words("--rate fast").value::<f64>("--rate").is_err());
        assert!(words("--rates 1,,2").list::<u64>("--rates").is_err());
    }

    #[test]
    fn an_unknown_word_is_an_error() {
        assert!(words("--sav").finish().is_err());
    }
}
