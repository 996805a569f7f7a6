"""fmqbus: one message bus that speaks five wire protocols, on Twisted."""

__version__ = "0.1.0"
