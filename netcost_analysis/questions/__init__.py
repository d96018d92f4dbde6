"""The questions, by topic: each is a function of what was opened.

Users ask them as ``capture.ask.TOPIC.QUESTION()``; ``questions.TOPIC.QUESTION(timeline)`` is what
that computes, without words and pictures.
"""

from ..stubs import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()
