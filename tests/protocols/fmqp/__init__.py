"""How does the broker behave towards FMQP clients? One file for each section of the specification."""
