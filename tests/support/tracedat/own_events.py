# ftrace's own events as Linux 6.x describes them: what its tracers, `stacktrace` and trace_printk
# write. The last field is as long as its record, whatever the format says.

from collections.abc import Mapping
from dataclasses import dataclass

from support.perfdata.formats import Common, Field, Format, Value, element_bytes
from support.perfdata.machine import X86_64, Machine

TEXT = Field("char", "buf", 1, count=0)


# `tail` has the number of elements that the format's text gives it.
@dataclass(frozen=True)
class OwnFormat(Format):
    tail: Field = TEXT

    def offsets(self, machine: Machine = X86_64) -> list[tuple[Field, int]]:
        placed = super().offsets(machine)
        last, offset = placed[-1]
        tail, end = self.tail.on(machine), offset + last.stored
        return [*placed, (tail, end + -end % tail.alignment(machine))]

    def payload(self, values: Mapping[str, Value], common: Common, machine: Machine) -> bytes:
        plain = Format(self.system, self.name, self.id, self.fields, self.print_fmt, self.common)
        tail, offset = self.offsets(machine)[-1]
        fixed = plain.payload(values, common, machine)[:offset]
        return fixed.ljust(offset, b"\0") + element_bytes(tail, values[tail.name], machine)

    def text(self, machine: Machine) -> str:
        # A length that the format does not know is written as [].
        return super().text(machine).replace(f"{self.tail.name}[0];", f"{self.tail.name}[];")


def long_t(name: str, count: int | None = None) -> Field:
    return Field("unsigned long", name, 8, count=count)


FUNCTION = OwnFormat(
    "ftrace",
    "function",
    1,
    (long_t("ip"), long_t("parent_ip")),
    '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip',
    tail=long_t("args", 0),
)
KERNEL_STACK = OwnFormat(
    "ftrace",
    "kernel_stack",
    4,
    (Field("int", "size", 4, True),),
    '"\\t=> %ps\\n\\t=> %ps\\n", (void *)REC->caller[0], (void *)REC->caller[1]',
    tail=long_t("caller", 8),
)
PRINT = OwnFormat(
    "ftrace",
    "print",
    5,
    (long_t("ip"),),
    '"%ps: %s", (void *)REC->ip, REC->buf',
)
FUNCGRAPH_ENTRY = OwnFormat(
    "ftrace",
    "funcgraph_entry",
    11,
    (long_t("func"), Field("unsigned int", "depth", 4)),
    '"--> %ps (%u)", (void *)REC->func, REC->depth',
    tail=long_t("args", 0),
)
FUNCGRAPH_EXIT = Format(
    "ftrace",
    "funcgraph_exit",
    10,
    (
        *(long_t("func"), Field("unsigned int", "depth", 4), Field("unsigned int", "overrun", 4)),
        *(Field("unsigned long long", "calltime", 8), Field("unsigned long long", "rettime", 8)),
    ),
    '"<-- %ps (%u) (start: %llx  end: %llx) over: %u", '
    "(void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth",
)
OWN = (FUNCTION, KERNEL_STACK, PRINT, FUNCGRAPH_EXIT, FUNCGRAPH_ENTRY)
