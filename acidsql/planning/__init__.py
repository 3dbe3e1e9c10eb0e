"""Planning of Spark's statements over ACID tables.

Names are resolved, the required partitions and rows of each table are found, and tables are
replaced by scans of one snapshot.
"""
