//! Rows that keep their numbers when those before them have left.
//!
//! ```text
//!   number   0    1    2    3    4            row 3 is still found as 3
//!            left |    | here: 2 3 4
//! ```

/// Rows by number; a number without a row here is nobody's any more, or not yet.
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
    /// Rows from this number on.
    pub fn from(first: usize, rows: Vec<T>) -> Numbered<T> {
        Numbered { first, rows }
    }

    /// The number of the first that is here.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The number of the one that comes next.
    pub fn next(&self) -> usize {
        self.first + self.rows.len()
    }

    /// Appends a row.
    pub fn push(&mut self, row: T) {
        self.rows.push(row);
    }

    /// The row of a number, if it is here.
    pub fn get(&self, number: usize) -> Option<&T> {
        self.rows.get(number.checked_sub(self.first)?)
    }

    /// The same, to change.
    #[inline(always)]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.rows.get_mut(number.checked_sub(self.first)?)
    }

    /// Those that are here.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// The same, to sort or sift once all are.
    pub fn rows_mut(&mut self) -> &mut Vec<T> {
        &mut self.rows
    }

    /// Takes those before a number, with that of the first.
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
