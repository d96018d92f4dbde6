# A client that sends as fast as it can to a server on another CPU, planned to the nanosecond.

from dataclasses import dataclass
from pathlib import Path

from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, RCU, UDPSINK, softirq

CLIENT, SERVER, HOG = h.Task(500, "client"), h.Task(501, "server"), h.Task(502, "hog")
_IDLE = h.idle(0), h.idle(1)


# A packet, which takes the sender's own NET_RX until then.
def sent(at: int, end: int, receiver: h.Task) -> list[h.Happening]:
    poll = h.Waking(at + 50, receiver, 1), h.NapiPoll(end - 10, "(no_device)", 1)
    return [
        *(h.BhDisable(at), h.SoftirqRaise(at + 5, NET_RX), h.BhEnable(at + 9)),
        *softirq(at + 10, end, *poll),
    ]


@dataclass(frozen=True)
class Talk:
    # A packet takes the client softirq_ns in its NET_RX, which wakes the server, and own_ns of its
    # own. After every so many packets hog runs in the client's place for hog_ns, or the client
    # sleeps for asleep_ns; the server is moved with every so many.
    softirq_ns: int = 3_000
    own_ns: int = 7_000
    packets: int = 200
    hog_every: int = 0
    hog_ns: int = 0
    sleep_every: int = 0
    asleep_ns: int = 0
    move_every: int = 0

    def write(self, path: Path) -> Path:
        client: list[h.Happening] = []
        server: list[h.Happening] = []
        now = 1_000_000
        for number in range(1, self.packets + 1):
            end = now + 10 + self.softirq_ns
            client += sent(now, end, SERVER)
            if self.move_every and number % self.move_every == 0:
                server.append(h.MigrateTask(now + 55, SERVER, 0, 1))
            server += [
                h.Wakeup(now + 60, SERVER, 1),
                h.Switch(now + 80, SERVER),
                h.Switch(now + 380, _IDLE[1], 1),
            ]
            now += self.softirq_ns + self.own_ns
            if self.hog_every and number % self.hog_every == 0:
                client += [h.Switch(now - 500, HOG), h.Switch(now - 500 + self.hog_ns, CLIENT)]
                now += self.hog_ns
            if self.sleep_every and number % self.sleep_every == 0:
                client += [
                    h.Switch(now - 500, _IDLE[0], 1),
                    h.Wakeup(now - 700 + self.asleep_ns, CLIENT, 0),
                    h.Switch(now - 500 + self.asleep_ns, CLIENT),
                ]
                now += self.asleep_ns
        client.append(h.SoftirqRaise(now, RCU))
        lanes = cpu(0, *client, task=CLIENT), cpu(1, *server)
        return recording(*lanes, known=(CLIENT, SERVER, HOG)).write(path)


# A sender and a receiver on two CPUs.
# CPU 0  udpsink: own NET_RX, wakes openssl, a hundred times; CPU 1 runs openssl a while after each.
def talk() -> tuple[Cpu, Cpu]:
    end = 21_000
    sender: list[h.Happening] = []
    receiver: list[h.Happening] = []
    for at in range(1_000, end, 1_000):
        sender += sent(at, at + 110, OPENSSL)
        receiver += [
            h.Wakeup(at + 60, OPENSSL, 1),
            h.Switch(at + 80, OPENSSL),
            h.Switch(at + 280, h.idle(1), 1),
        ]
    sender.append(h.Waking(end, UDPSINK))
    receiver.append(h.SoftirqRaise(end, RCU))
    return cpu(0, *sender, task=UDPSINK), cpu(1, *receiver)
