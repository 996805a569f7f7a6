"""MTL, the Message Transport Layer: a broker of profiles, with a flow for control and flows for data, over ZeroMQ."""
