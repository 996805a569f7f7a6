"""One suite of tests for each interface that a part can provide.

A suite is a class to derive from. The derived class, whose name begins with ``Test``, says how to make the part;
pytest then runs all that the interface promises. Built-in parts and the kit's own fakes pass the same suites.
"""
