"""Is there any input that a decoder does not bear? `python -m tests.fuzz` searches for it."""
