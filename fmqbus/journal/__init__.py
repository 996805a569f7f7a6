"""The journal's format: what it looks like on the disk, and how it is read. No I/O but files, and no Twisted: it is
imported where Spark's executors run. The broker's side is `fmqbus.observers`."""
