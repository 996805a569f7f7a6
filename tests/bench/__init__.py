"""How fast is the whole broker, with everything on, beside NATS and Mosquitto on the same machine at the same time?

`python -m tests.bench` measures, prints the table and writes it to docs/benchmarks.md. The load comes from loadgen.c:
one thread that is publisher and subscriber at once, so that it knows what was lost, reordered or misrouted.
"""
