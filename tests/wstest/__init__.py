"""Autobahn's conformance of WebSocket: its fuzzing client, ``wstest``, against a listener of ours.

`listener` is that listener, `suite` is where the program comes from, and `verdicts` what its report means.
``python -m tests.wstest`` runs it; the tests in tests/transports/websocket need nothing of it.
"""
