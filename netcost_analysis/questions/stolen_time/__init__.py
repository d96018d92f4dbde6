"""Stolen time: whose CPU time it was, who took it, when, and how long at a stretch.

Document 000's question, beyond the sums of stolen() and ledger(): over time (rolling_stolen), by
cost class (cost_classes), down to device and queue (thieves, queues), the longest stretches
(episodes), against what a monitor shows (effective_share), what ksoftirqd and NAPI's threads took
over (handovers), and how long each task was there (lifetimes).
"""
