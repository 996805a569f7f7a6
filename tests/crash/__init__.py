"""A broker with queues on the disk that is killed again and again while it works: does it keep its promises?

`ledger` keeps the account of what was said about each message, and says what must not be. `clients` are those who say
it, over MicroMsg2. `campaign` kills and starts brokers. ``python -m tests.crash`` runs the long form;
tests/live/test_crashes.py runs a short one.
"""
