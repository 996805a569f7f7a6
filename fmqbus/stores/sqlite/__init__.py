"""Queues, retained messages and schedules in an SQLite file, so that they outlive the process and the machine's power.

Read in this order: `plug` (what a configuration file names), `message_store`, `retained_store` and
`schedule_store` (what the bus talks to), `file` and `group` (the reactor's side of one file), `database` (the thread's
side), `rows`, `schedule_rows` and `schema` (what is in it), `wal` and `damage` (is it still all there?).
"""
