"""FMQP: feedback publish/subscribe over a byte stream (specification: FMQP, revision fc97543)."""
