"""What is said in one protocol and heard in another, over real sockets (docs/crossing.md).

`speakers` has the words that all protocols share; each protocol has a file that says them in its way. A protocol that
joins brings such a file, and its name in `conftest`: every test then runs from it and to it.
"""
