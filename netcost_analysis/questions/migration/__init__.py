"""Migrations of tasks between CPUs: how many, why, and whether they explain anything.

The red herring of Performance of Local IP Traffic: a migration is easily seen and easily blamed.
migrations and migration_rates say what happened. migration_effect compares what a task got just
after a migration with just before, and with moments at which the same task was not moved.
migration_verdict says whether that can matter, and may say no.
"""

from .migration_effect import migration_effect as migration_effect
from .migration_verdict import migration_verdict as migration_verdict
from .migrations import migration_rates as migration_rates
from .migrations import migrations as migrations
