"""Mixed traffic in all protocols for a long time, while clients come, go, stall and are killed, and brokers restart.

`campaign` runs a broker and lets a seeded `plan` happen to the processes of a `troupe`. Each is a `member`, which says
and hears in one protocol what `traffic` chooses, and writes into its `account` what it was told. The `ledger` reads all
accounts and knows what may not be; `health` looks at the broker's memory and at what it says of itself.

What a protocol can say is one small file beside these, made of `words`: fmqp, micromsg2, umq, emqp and emqp_worker. A
further protocol is a further file, and its line in `casts`. ``python -m tests.soak`` runs half an hour, ``--smoke`` a
minute of it.
"""
