"""An application as a vendor would have it: `jobs` is what its worker is told to load."""
