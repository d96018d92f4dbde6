"""Why the accounts of the victim's time can be wrong, on the kernel that kept them."""

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.question import question
from .accounts import Price, accounts, price_for
from .calibrations import first_bundle
from .doubts import STEAL_LIMIT
from .side_by_side import bundle_of

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...capture.capture import Capture
    from ...opening.experiment import Experiment


@question(check=bundle_of, columns=("estimate", "resolution_share", "steal_share", "why"), rows=0)
def account_reasons(capture: "Capture", calibration: "Experiment | None" = None) -> pd.DataFrame:
    """Why each account of what the victim got can be wrong, on the kernel that kept it.

    - capture: Of a bundle with a victim.
    - calibration: As for accounts.

    The rows of accounts() that have a share: resolution_share, steal_share (0 to 1), source, why.

    Source: accounts(), and the kernel's configuration beside the recording.
    """
    table = accounts(capture, calibration=calibration)
    known = table["got_share"].notna() | table["lost_share"].notna()
    return table.loc[known, ["resolution_share", "steal_share", "source", "why"]]


class Reason(NamedTuple):
    """An account, by its name in the index of accounts(), and why it can be wrong."""

    name: str
    why: str


class Doubts(NamedTuple):
    """What is to be known of the accounts.

    reasons; missing: the accounts that the bundle has nothing for. steal_share: the most that any
    account has, None where unknown, and steal_limit_share, above which it matters. price: what of
    the calibration is taken, None without one; tools: the recorders, of this bundle and of the
    calibration's, where they are two.
    """

    reasons: list[Reason]
    missing: list[str]
    steal_share: float | None
    steal_limit_share: float
    price: Price | None
    tools: list[str]


_ACCOUNTS = (
    *("times", "system", "task_stat", "schedstat", "cpu_stat", "mpstat", "traced"),
    *("traced_and_hidden", "work"),
)


@account_reasons.totals
def _totals(answer: "Answer") -> dict[str, Price | None]:
    # price: what of the calibration is taken, None without one.
    calibration = answer.options.get("calibration")
    return {"price": None if calibration is None else price_for(answer.bundle, calibration)}


@account_reasons.figures
def doubts(answer: "Answer") -> Doubts:
    table, calibration = answer.frame, answer.options.get("calibration")
    price = answer.parts["price"]
    wanted = [name for name in _ACCOUNTS if name != "traced_and_hidden" or (price and price[0])]
    steal = table["steal_share"].dropna()
    tools = []
    if price and price.same_host and calibration and answer.bundle:
        both = [one.manifest.tool for one in (answer.bundle, first_bundle(calibration))]
        tools = [one for one in both if one] if all(both) and both[0] != both[1] else []
    return Doubts(
        reasons=[Reason(str(name), str(why)) for name, why in table["why"].items()],
        missing=[name for name in wanted if name not in table.index],
        steal_share=float(steal.max()) if len(steal) else None,
        steal_limit_share=STEAL_LIMIT,
        price=price,
        tools=tools,
    )
