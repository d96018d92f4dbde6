"""The questions, by topic: each is a function of what was opened.

Users ask them as ``capture.ask.TOPIC.QUESTION()``; ``questions.TOPIC.QUESTION(timeline)`` is what
that computes, without words and pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
