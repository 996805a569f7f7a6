"""The extensions that the specification names, each registered as a vendor's would be."""
