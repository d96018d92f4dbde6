//! scratch
use netcost::{ledger, open, Recording, Sample, Visitor};
struct Nothing(u64);
impl Visitor for Nothing {
    fn samples(&mut self, _b: &[u8], s: &[Sample]) -> std::ops::ControlFlow<()> {
        self.0 += s.len() as u64;
        std::ops::ControlFlow::Continue(())
    }
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let threads: usize = std::env::args().nth(3).unwrap().parse().unwrap();
    let way = std::env::args().nth(4).unwrap();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    let recording: Recording = open(&path, None, &mut || true).unwrap();
    let mut all: Vec<u128> = Vec::new();
    for _ in 0..n {
        let t = std::time::Instant::now();
        if way == "decode" {
            netcost::events::tables(&recording, None, None, &mut |_| true).unwrap();
        } else if way == "walk" {
            recording.walk(&mut Nothing(0)).unwrap();
        } else {
            ledger::run(&recording, &ledger::Request::default(), &mut |_| true).unwrap();
        }
        all.push(t.elapsed().as_micros());
    }
    all.sort();
    print!("{way} {threads} threads: min {} median {} us;", all[0], all[all.len() / 2]);
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let p = task.unwrap().path();
        let s = std::fs::read_to_string(p.join("schedstat")).unwrap();
        let name = std::fs::read_to_string(p.join("comm")).unwrap();
        let ns: u64 = s.split(' ').next().unwrap().parse().unwrap();
        print!(" {}={}us", name.trim(), ns / 1000 / n as u64);
    }
    println!();
}
