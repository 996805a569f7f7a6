"""The profiles that come with fmqbus, parts as a vendor's."""
