# The modules of pictures.

from . import batches as batches
from . import devices as devices
from . import lanes as lanes
from . import marks as marks
from . import painting as painting
from . import palette as palette
from . import softirqs as softirqs
from . import stolen_time as stolen_time
from . import sweep as sweep
from . import tasks as tasks
from . import victim as victim
from .marks import Axes as Axes
