//! The task that runs on a CPU, and the victim that its time is charged to.
//!
//! ```text
//!   event   switch to 7     COMM 7 = "openssl", t    event at u > t
//!   victim  7 "sh"          7 "sh"                   7 "openssl" since t
//! ```
//! A name arrives in a record of its own. The next event shows that the record's time lies in the recording.

use crate::ledger::task::{Role, Victims, NOBODY};
use crate::ledger::thief::{Class, IDLE, TASK};

#[derive(Debug)]
pub struct Current {
    tid: i32,
    victim: u32,
    role: Role,
    own: u32,
    is_stopper: bool,
    is_hotplug: bool,
    /// A name that arrived but does not apply yet: since when, and as which victim.
    named: Option<(i64, u32)>,
    victims: Victims,
}

impl Current {
    pub fn nobody(victims: Victims) -> Current {
        let (role, own) = (Role::Ordinary, TASK);
        Current { tid: -1, victim: NOBODY, role, own, is_stopper: false, is_hotplug: false, named: None, victims }
    }

    #[inline(always)]
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Who its time is charged to.
    #[inline(always)]
    pub fn victim(&self) -> u32 {
        self.victim
    }

    /// What it exists for.
    #[inline(always)]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it can be a victim. Threads that do the work of interrupts cannot.
    #[inline(always)]
    pub fn is_ordinary(&self) -> bool {
        self.role == Role::Ordinary
    }

    /// Whether it is the stopper, which moves tasks by force.
    pub fn is_stopper(&self) -> bool {
        self.is_stopper
    }

    /// Thief and class of its own time.
    #[inline(always)]
    pub fn owner(&self) -> (u32, Class) {
        let class = if self.is_ordinary() { Class::None } else { Class::Scheduled };
        (if self.tid == 0 { IDLE } else { self.own }, class)
    }

    /// Class of an interrupt that runs on top of it.
    #[inline(always)]
    pub fn class_on_top(&self) -> Class {
        match (self.tid, self.role) {
            (0, _) => Class::FromIdle,
            (_, Role::Ordinary) => Class::Stolen,
            _ => Class::Scheduled,
        }
    }

    /// Whether it is the hotplug thread, which takes its CPU offline.
    pub fn is_hotplug(&self) -> bool {
        self.is_hotplug
    }

    pub fn become_task(&mut self, tid: i32, victim: u32) {
        (self.tid, self.named) = (tid, None);
        self.charge(victim);
    }

    /// Charges the same task under another name.
    pub fn charge(&mut self, victim: u32) {
        let found = self.victims.get(victim);
        (self.victim, self.role, self.own) = (victim, found.role, found.own);
        (self.is_stopper, self.is_hotplug) = (found.is_stopper, found.is_hotplug);
    }

    /// Stores a name that holds from `since_ns` on.
    pub fn name(&mut self, victim: u32, since_ns: i64) {
        self.named = Some((since_ns, victim));
    }

    #[inline(always)]
    pub fn is_renamed(&self) -> bool {
        self.named.is_some()
    }

    /// The stored name, and the time from which it holds.
    pub fn take_name(&mut self) -> Option<(i64, u32)> {
        self.named.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intern::Interner;
    use crate::ledger::task::Tasks;
    use crate::ledger::thief::Thieves;

    #[test]
    fn a_task_is_what_its_name_says() {
        let (mut strings, mut tasks) = (Interner::default(), Tasks::new());
        let mut thieves = Thieves::new(&[], &mut strings);
        let mut current = Current::nobody(tasks.shared());
        let mut named = |tid: i32, comm: &str| {
            let code = strings.code(comm.as_bytes());
            tasks.named(tid, code, &mut strings, &mut thieves)
        };
        let (idle, shell, ksoftirqd) = (named(0, "swapper/0"), named(7, "sh"), named(16, "ksoftirqd/0"));
        let stopper = named(20, "migration/0");
        current.become_task(0, idle);
        assert_eq!((current.owner(), current.class_on_top()), ((IDLE, Class::None), Class::FromIdle));
        current.become_task(7, shell);
        current.name(ksoftirqd, 5);
        assert_eq!((current.owner(), current.class_on_top()), ((TASK, Class::None), Class::Stolen));
        assert!(current.is_renamed() && !current.is_stopper());
        // A name belongs to the task that had the CPU when the name arrived.
        current.become_task(16, ksoftirqd);
        assert!(!current.is_renamed() && !current.is_ordinary());
        assert_eq!(current.class_on_top(), Class::Scheduled);
        current.become_task(20, stopper);
        assert!(current.is_stopper() && current.is_ordinary());
    }
}
