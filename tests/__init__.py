"""Everything that shows what fmqbus does; the folders mirror those of `fmqbus`."""
