"""``acidsql.enable``: PySpark's own methods know ACID tables too, in sessions that ask for it.

``switch`` replaces methods of PySpark's classes and puts them back; the other modules are what
stands in their place. Each hands on to Spark whatever is no matter of an ACID table.
"""
