"""The pipeline over many rows, beside other engines."""
