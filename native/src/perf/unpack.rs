//! Compressed records: one zstd stream, cut into records anywhere.

use std::ops::ControlFlow;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::wrapped::most;

/// Records that compressed records hold: one zstd stream, cut anywhere.
pub struct Unpacked {
    decoder: Option<Decoder<'static>>,
    buffer: Vec<u8>,
    filled: usize,
    packed: u64,
    unpacked: u64,
}

/// Room for one largest record beside what one call of the decoder gives.
const UNPACKED: usize = (1 << 18) + (1 << 16);

impl Unpacked {
    /// Nothing unpacked yet.
    pub fn new() -> Unpacked {
        Unpacked { decoder: Decoder::new().ok(), buffer: vec![0; UNPACKED], filled: 0, packed: 0, unpacked: 0 }
    }

    /// Decompresses `packed` and hands whole records to `consume`, which says how much it used.
    pub fn feed(
        &mut self,
        packed: &[u8],
        mut consume: impl FnMut(&[u8]) -> std::result::Result<(usize, ControlFlow<()>), String>,
    ) -> std::result::Result<ControlFlow<()>, String> {
        let decoder = self.decoder.as_mut().ok_or("zstd could not start")?;
        let mut input = InBuffer::around(packed);
        self.packed += packed.len() as u64;
        loop {
            let before = input.pos();
            let mut output = OutBuffer::around(&mut self.buffer[self.filled..]);
            decoder.run(&mut input, &mut output).map_err(|error| error.to_string())?;
            let room = output.capacity();
            let produced = output.pos();
            self.filled += produced;
            self.unpacked += produced as u64;
            if self.unpacked > most(self.packed) {
                return Err(format!("it expands to more than {} bytes", most(self.packed)));
            }
            let (used, flow) = consume(&self.buffer[..self.filled])?;
            if flow.is_break() {
                return Ok(flow);
            }
            self.buffer.copy_within(used..self.filled, 0);
            self.filled -= used;
            // If the output is full, the decoder may hold more.
            if input.pos() >= packed.len() && produced < room {
                return Ok(ControlFlow::Continue(()));
            }
            if produced == 0 && used == 0 && input.pos() == before {
                return Err("it makes no progress".to_owned());
            }
        }
    }
}
