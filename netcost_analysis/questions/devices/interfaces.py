# The network interfaces of the recorded host.

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from ...capture.links import known_interfaces


@question()
def interfaces(bundle: Bundle) -> Answer:
    """What is known of each network interface of the recorded host, before and after recording.

    A row per network namespace and device; link_kind is NA for hardware. A state that changed while
    recording is NA, as is what was not recorded. promiscuity and addresses are the greater of both
    readings. Sources: before/ and after/ of ip_link.json, settings/ip_addr.json, settings/queues,
    settings/ethtool/DEVICE/driver, net_dev.
    """
    known = known_interfaces(bundle)
    if not len(known):
        raise CaptureError(
            "the bundle says nothing of its host's network interfaces: netcost-record keeps "
            "net/dev and ip's output in before/ and after/"
        )
    return Answer(known)
