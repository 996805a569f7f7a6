"""Twisted clients of the bus, one module per protocol."""
