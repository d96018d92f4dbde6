//! Rows that keep their numbers when earlier rows have left.
//!
//! ```text
//!   number   0    1    2    3    4            row 3 is still found as 3
//!            left |    | here: 2 3 4
//! ```

/// Rows by number. Numbers without a row here have left or are yet to come.
#[derive(Debug)]
pub struct Numbered<T> {
    first: usize,
    rows: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { first: 0, rows: Vec::new() }
    }
}

impl<T> Numbered<T> {
    /// Rows numbered from `first`.
    pub fn from(first: usize, rows: Vec<T>) -> Numbered<T> {
        Numbered { first, rows }
    }

    /// Number of the first row here.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Number of the next row to come.
    pub fn next(&self) -> usize {
        self.first + self.rows.len()
    }

    pub fn push(&mut self, row: T) {
        self.rows.push(row);
    }

    pub fn get(&self, number: usize) -> Option<&T> {
        self.rows.get(number.checked_sub(self.first)?)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.rows.get_mut(number.checked_sub(self.first)?)
    }

    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// Mutable, to be sorted or filtered once all rows are here.
    pub fn rows_mut(&mut self) -> &mut Vec<T> {
        &mut self.rows
    }

    /// Takes the rows before a number.
    pub fn leave(&mut self, until: usize) -> Numbered<T> {
        let (first, count) = (self.first, until.saturating_sub(self.first).min(self.rows.len()));
        self.first += count;
        Numbered { first, rows: self.rows.drain(..count).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_number_until_it_has_left() {
        let mut rows = Numbered::default();
        (0..5).for_each(|row| rows.push(row));
        let left = rows.leave(2);
        assert_eq!((left.first(), left.rows(), rows.rows()), (0, [0, 1].as_slice(), [2, 3, 4].as_slice()));
        assert_eq!(rows.next(), 5);
        assert_eq!(rows.get_mut(1), None);
        assert_eq!(rows.get_mut(3), Some(&mut 3));
        assert_eq!((rows.leave(1).rows(), rows.leave(9).rows().len(), rows.next()), ([].as_slice(), 3, 5));
    }
}
