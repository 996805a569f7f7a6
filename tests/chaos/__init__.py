"""Jobs with a guarantee, while workers and the broker are killed at random: is each done, and is each client told?

`ledger` keeps the account. `customer` hands in jobs and hears of them, `worker` is a process that does them, which are
in `jobs`, and `campaign` kills. ``python -m tests.chaos`` runs the long form, with ``--smoke`` a short one.
"""
