"""The bus itself: topics, sessions, interest, outboxes. Knows no protocol and no socket."""
