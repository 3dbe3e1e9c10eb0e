"""``acidsql.enable``: PySpark's own methods read and write ACID tables in sessions that ask for it.

``switch`` replaces methods of PySpark's classes and restores them; the other modules have the
replacements. Each passes calls that do not concern an ACID table on to Spark.
"""
