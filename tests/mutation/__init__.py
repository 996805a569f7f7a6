"""Do the tests of the codecs, and of the router's queues and topics, notice when these are wrong?

`mutants` makes small mistakes in functions, one at a time. `targets` says where, and which tests should notice.
`session` is a run of pytest that makes the mistakes, each in a child of its own, after it has loaded everything once.
``python -m tests.mutation`` says what nobody has noticed, ``--smoke`` tries a few of each file.

Programs that are made for this begin Python anew for each mistake, or run pytest again in one process, which a reactor
does not survive. Here a mistake costs as much as the tests that see it.
"""
