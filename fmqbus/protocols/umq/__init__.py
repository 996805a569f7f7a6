"""UMQ: calls, callbacks, topics, attachments and attributes between two peers, in messages."""
