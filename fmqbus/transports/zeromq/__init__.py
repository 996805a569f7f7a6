"""ZeroMQ as a carrier of protocols whose units are messages of parts. docs/zeromq.md tells how it is used.

Importing `fmqbus.transports.zeromq.reading`, and all that stands on it, imports txZMQ, which chooses the process's
reactor: do so only once that is chosen.
"""
