//! The first rows of a window: examples where there may be too many rows.

/// Keeps the rows with the least keys; among equal keys, by CPU and order of arrival.
pub struct First<T> {
    most: usize,
    /// Rows later than this are not needed: there are enough earlier ones.
    until: Option<i64>,
    rows: Vec<(i64, i64, T)>,
}

impl<T> First<T> {
    /// Keeps `most` rows.
    pub fn new(most: usize) -> First<T> {
        First { most, until: None, rows: Vec::new() }
    }

    /// Whether a row with this key may be one of them.
    #[inline]
    pub fn takes(&self, key: i64) -> bool {
        self.most > 0 && self.until.is_none_or(|until| key <= until)
    }

    /// Adds the next row of a CPU.
    pub fn add(&mut self, key: i64, cpu: i64, row: T) {
        self.rows.push((key, cpu, row));
        if self.rows.len() > self.most.saturating_add(self.most / 4) {
            self.trim();
        }
    }

    /// Takes the rows, by CPU and then key.
    pub fn rows(&mut self) -> Vec<(i64, i64, T)> {
        self.trim();
        self.rows.sort_by_key(|row| (row.1, row.0));
        std::mem::take(&mut self.rows)
    }

    fn trim(&mut self) {
        if self.rows.len() > self.most {
            self.rows.sort_by_key(|row| (row.0, row.1));
            self.rows.truncate(self.most);
            self.until = self.rows.last().map(|row| row.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_the_same_whenever_they_come() {
        let given: Vec<(i64, i64)> = (0..100).map(|number| (number * 37 % 50, number % 3)).collect();
        let mut wanted: Vec<_> = given.iter().enumerate().map(|(place, &(key, cpu))| (key, cpu, place)).collect();
        wanted.sort_unstable();
        wanted.truncate(8);
        wanted.sort_by_key(|row| (row.1, row.0, row.2));
        let mut first = First::new(8);
        for (place, &(key, cpu)) in given.iter().enumerate() {
            if first.takes(key) {
                first.add(key, cpu, place);
            }
        }
        assert_eq!(first.rows(), wanted);
        assert!(!First::<()>::new(0).takes(0));
    }
}
