//! Millions of rows, pushed one at a time. Growth never moves existing rows.

/// Bytes of a full chunk: many pages, so that they can be huge pages.
const FULL: usize = 16 << 20;
const FIRST_ROWS: usize = 16;

/// A list of rows in chunks, each twice as large as the one before up to a limit.
#[derive(Debug)]
pub struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Chunks { chunks: Vec::new() }
    }
}

impl<T> From<Vec<T>> for Chunks<T> {
    fn from(rows: Vec<T>) -> Self {
        Chunks { chunks: if rows.is_empty() { Vec::new() } else { vec![rows] } }
    }
}

impl<T> Chunks<T> {
    #[inline(always)]
    pub fn push(&mut self, row: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < chunk.capacity() => chunk.push(row),
            _ => self.push_in_new_chunk(row),
        }
    }

    #[cold]
    fn push_in_new_chunk(&mut self, row: T) {
        let most = FULL / size_of::<T>().max(1);
        let rows = self.chunks.last().map_or(FIRST_ROWS, |chunk| 2 * chunk.capacity()).min(most);
        let mut chunk = Vec::with_capacity(rows);
        chunk.push(row);
        self.chunks.push(chunk);
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.chunks.last_mut()?.last_mut()
    }

    pub fn first_mut(&mut self) -> Option<&mut T> {
        self.chunks.first_mut()?.first_mut()
    }

    /// Puts a row before all others.
    pub fn push_front(&mut self, row: T) {
        self.chunks.insert(0, vec![row]);
    }

    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The rows in order, as slices.
    pub fn slices(&self) -> impl Iterator<Item = &[T]> {
        self.chunks.iter().map(Vec::as_slice)
    }

    /// Takes the leading rows that are wanted.
    pub fn take_while(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let count = self.slices().flatten().take_while(|row| wanted(row)).count();
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let chunk = &mut self.chunks[0];
            taken.extend(chunk.drain(..chunk.len().min(count - taken.len())));
            if chunk.is_empty() {
                self.chunks.remove(0);
            }
        }
        taken
    }

    /// The row at an index.
    pub fn get_mut(&mut self, row: usize) -> Option<&mut T> {
        let mut left = row;
        for chunk in &mut self.chunks {
            if left < chunk.len() {
                return chunk.get_mut(left);
            }
            left -= chunk.len();
        }
        None
    }

    /// The row with this key, in rows sorted by key.
    pub fn find_mut<K: Ord>(&mut self, key: &K, of: impl Fn(&T) -> K) -> Option<&mut T> {
        let after = self.chunks.partition_point(|chunk| chunk.first().is_some_and(|first| of(first) <= *key));
        let chunk = self.chunks.get_mut(after.checked_sub(1)?)?;
        let place = chunk.binary_search_by_key(key, of).ok()?;
        chunk.get_mut(place)
    }

    pub fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        self.chunks.iter_mut().for_each(|chunk| chunk.retain(&wanted));
    }

    /// Sorts the rows stably. Nothing moves if they are already in order.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        if !self.chunks.iter().flatten().is_sorted_by_key(&key) {
            let mut rows: Vec<T> = self.chunks.drain(..).flatten().collect();
            rows.sort_by_key(key);
            self.chunks = vec![rows];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Chunks;

    #[test]
    fn rows_come_back_in_order_and_sorted() {
        let mut rows = Chunks::default();
        (0..10_000u32).for_each(|row| rows.push(row ^ 1));
        rows.push_front(0);
        assert_eq!(rows.len(), 10_001);
        assert!(rows.slices().count() > 3);
        assert_eq!(rows.slices().flatten().take(3).collect::<Vec<_>>(), [&0, &1, &0]);
        rows.sort_by_key(|row| *row);
        assert!(rows.slices().flatten().is_sorted());
    }

    #[test]
    fn the_first_rows_are_taken() {
        let mut rows = Chunks::default();
        (0..1_000u32).for_each(|row| rows.push(row));
        for until in [0, 100, 256, 900] {
            let taken = rows.take_while(|row| *row < until);
            assert_eq!(taken.last().map_or(0, |last| last + 1), if taken.is_empty() { 0 } else { until });
            assert_eq!(rows.len(), 1_000 - until as usize);
        }
        rows.push(1_000);
        assert_eq!(rows.take_while(|_| true).len(), 101);
        assert!(rows.is_empty());
    }

    #[test]
    fn a_row_is_found_by_number_and_by_key() {
        let mut rows = Chunks::default();
        (0..10_000u32).for_each(|row| rows.push(2 * row));
        for row in [0, 255, 256, 300, 9_999] {
            assert_eq!(rows.get_mut(row as usize).copied(), Some(2 * row));
            assert_eq!(rows.find_mut(&(2 * row), |row| *row).copied(), Some(2 * row));
            assert_eq!(rows.find_mut(&(2 * row + 1), |row| *row), None);
        }
        assert_eq!(rows.get_mut(10_000), None);
        rows.retain(|row| *row % 4 == 0);
        assert_eq!(rows.len(), 5_000);
    }
}
