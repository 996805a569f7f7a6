"""A real broker, attacked over real sockets: what do others feel of it, and does every bound hold?

`attack` says what an attack is, `measure` what is measured while it goes on. Every other file with a broker in it holds
the attacks of one kind. ``python -m tests.adversarial`` runs them.
"""
