"""MicroMsg2: messages over a byte stream, with what is needed beside them agreed in a handshake (version 1.0)."""
