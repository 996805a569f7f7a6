"""What operators ask of the traffic of a bus, each a function from DataFrame to DataFrame in a file of its own.

The rows that they take are those of the data source with ``includeMetadata``, or any table with the same columns; which
of these each needs is said in `table`. They look at nothing else, so small frames test them.
"""
