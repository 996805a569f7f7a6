"""EventMQ's own programs against our broker: does it take their word for it, unmodified?

``tox -e interop`` installs the package ``eventmq`` and runs all of it. ``python -m tests.interop`` does so where it is
installed already, be it in an environment of its own, whose Python EVENTMQ_PYTHON names.

`programs` starts EventMQ's programs, `probe` checks any broker with them and can be run by hand, `real_client` is a
program around EventMQ's client. These three know nothing of fmqbus, for they run where EventMQ is. The other files have
tests, for pytest; their names keep them away from those who look for tests where there is no EventMQ.
"""
