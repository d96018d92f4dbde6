"""Why the accounts of the victim's time can be wrong, on the kernel that kept them."""

from typing import TYPE_CHECKING

from ...answers.answer import Answer
from ...answers.question import question
from .accounts import STEAL_LIMIT, accounts
from .hidden_cost import price_for
from .side_by_side import bundle_of

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...opening.experiment import Experiment


@question(check=bundle_of, columns=("estimate", "resolution_share", "steal_share", "why"), rows=0)
def account_reasons(capture: "Capture", calibration: "Experiment | None" = None) -> Answer:
    """Why each account of what the victim got can be wrong, on the kernel that kept it.

    The rows of accounts that have a share. Source: accounts, and the kernel's configuration beside
    the recording.
    """
    table = accounts(capture, calibration=calibration).frame
    known = table["got_share"].notna() | table["lost_share"].notna()
    table = table.loc[known, ["resolution_share", "steal_share", "source", "why"]]
    return Answer(
        table,
        price=price_for(capture.bundle, calibration) if calibration is not None else None,
        steal_max_share=float(table["steal_share"].max()),
        limit_share=STEAL_LIMIT,
    )
