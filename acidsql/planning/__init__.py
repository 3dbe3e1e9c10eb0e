"""Plan statements of Spark over ACID tables: resolve names, find out which partitions and rows are
required, and put scans of one snapshot in the place of tables.
"""
