//! The records that a stream (`perf record -o -`) begins with, which say what sections say in a file.

use std::fs::File;
use std::sync::Arc;

use crate::bytes::text;
use crate::error::Result;
use crate::input::{read_at, Window};
use crate::perf::attr::Attr;
use crate::perf::feature;
use crate::perf::gather::Gathered;
use crate::perf::header::{Section, PIPE_HEADER};
use crate::perf::record::{self, kind};
use crate::perf::recording::Part;

impl Gathered {
    /// Reads a stream's own records up to its first sample.
    pub(super) fn read_pipe(&mut self, file: &Arc<File>, length: u64) -> Result<Part> {
        self.around.before = vec![Section { offset: 0, size: PIPE_HEADER }];
        self.around.records_at = PIPE_HEADER;
        let mut window = Window::new(file, PIPE_HEADER, length);
        let mut start = PIPE_HEADER;
        let mut before_attrs = true;
        loop {
            let offset = window.offset();
            let Some((kind, size)) = record::header(window.peek(record::HEADER)?, self.order) else {
                self.stopped = Some(format!("the stream ends at byte {length}"));
                break;
            };
            if size < record::HEADER {
                self.stopped = Some(format!("the record at byte {offset} claims {size} bytes"));
                break;
            }
            let old_feature = before_attrs && is_old_feature(kind, start, offset);
            if matches!(kind, kind::SAMPLE | kind::COMPRESSED | kind::COMPRESSED2) && !old_feature {
                self.stopped = Some(format!("samples begin at byte {offset}"));
                break;
            }
            let bytes = window.peek(size)?;
            let Some(bytes) = bytes.get(..size) else {
                self.stopped = Some(format!("the record at byte {offset} claims {size} bytes and is cut short"));
                break;
            };
            before_attrs &= kind != kind::HEADER_ATTR;
            let skip = match kind {
                _ if old_feature => {
                    self.features.read((kind - OLD_FEATURE_BASE) as usize, &bytes[record::HEADER..], self.order);
                    start = offset + size as u64;
                    0
                }
                kind::HEADER_TRACING_DATA => {
                    let extra = self.order.u32(bytes, 8).unwrap_or(0);
                    let at = offset + size as u64;
                    match read_at(file, at, extra as usize)? {
                        Some(section) => self.features.read(feature::TRACING_DATA, &section, self.order),
                        None => self.notes.push(format!("event formats cut short at byte {at}")),
                    }
                    extra.into()
                }
                kind::AUXTRACE => self.order.u64(bytes, 8).unwrap_or(0),
                _ => {
                    self.pipe_record(kind, bytes);
                    0
                }
            };
            window.advance((size as u64).saturating_add(skip))?;
        }
        Ok(Part { file: Arc::clone(file), start, end: length })
    }

    fn pipe_record(&mut self, kind: u32, bytes: &[u8]) {
        const UPDATE_NAME: u64 = 2;
        let order = self.order;
        match kind {
            kind::HEADER_ATTR => {
                let attr = &bytes[record::HEADER..];
                let size = Attr::size(attr, order);
                if let Some((parsed, size)) = Attr::parse(attr, order).zip(size) {
                    self.attrs.push((parsed, self.words(attr.get(size..).unwrap_or_default())));
                }
            }
            kind::HEADER_EVENT_TYPE => self.name_by_config(&bytes[record::HEADER..]),
            kind::EVENT_UPDATE if order.u64(bytes, 8) == Some(UPDATE_NAME) => {
                let name = text(bytes.get(24..).unwrap_or_default());
                self.names.extend(order.u64(bytes, 16).map(|id| (id, name)));
            }
            kind::HEADER_FEATURE => {
                let feature = order.u64(bytes, 8).and_then(|feature| usize::try_from(feature).ok());
                let section = bytes.get(16..).unwrap_or_default();
                self.features.read(feature.unwrap_or(usize::MAX), section, order);
            }
            kind::ID_INDEX => self.id_index(bytes),
            _ => {}
        }
    }
}

/// Types of the records in which ChromeOS' perf 3.3 put features at the start of a stream, which
/// mainline later gave to others.
const OLD_FEATURES: u32 = 69;
pub const OLD_FEATURE_BASE: u32 = 66;
const LAST_OLD_FEATURE: u32 = 81;

/// They stand first, one after the other; mainline begins with an attr or with HEADER_FEATURE.
pub fn is_old_feature(kind: u32, start: u64, offset: u64) -> bool {
    offset == start
        && (OLD_FEATURES..=LAST_OLD_FEATURE).contains(&kind)
        && (start > PIPE_HEADER || kind != kind::HEADER_FEATURE)
}
