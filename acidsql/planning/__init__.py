"""Planning of Spark's statements over ACID tables.

Planning resolves names, finds the required partitions and rows of each table, and replaces the
tables by scans of one snapshot.
"""
