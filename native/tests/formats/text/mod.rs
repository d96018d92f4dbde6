//! Texts of perf script, trace-cmd and ftrace, each as it may come: what tables, scan and ledger show of it.

mod chains;
mod changes;
mod damage;
mod graph;
mod halves;
mod heads;
pub mod kinds;
mod known;
mod ledger;
mod lines;
mod passed_over;
mod reversed;
