"""Carriers and listeners: what stands between the kernel's sockets and a protocol."""
