"""Recordings and bundles with the names of hosts, tasks and addresses replaced: docs/mask.md."""

from .recording import Masked, mask

__all__ = ["Masked", "mask"]
