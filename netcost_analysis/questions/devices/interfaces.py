# The network interfaces of the recorded host.

from ...answers.answer import Answer
from ...answers.question import question
from ...capture import links
from ...capture.bundle import Bundle


@question()
def interfaces(bundle: Bundle) -> Answer:
    """What is known of each network interface of the recorded host, before and after recording.

    A row per network namespace and device; link_kind is NA for hardware. A state that changed while
    recording is NA, as is what was not recorded; promiscuity and addresses are the greater of both.
    Sources: before/ and after/ of ip_link.json, settings/ip_addr.json, settings/queues,
    settings/ethtool/DEVICE/driver, net_dev.
    """
    return Answer(links.interfaces(bundle))
