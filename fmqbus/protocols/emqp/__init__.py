"""EventMQ's protocol, eMQP/1.0: as its specification has it, and as the programs in the field speak it."""
