"""``acidsql.enable``: PySpark's methods read and write ACID tables in enabled sessions.

``switch`` replaces methods of PySpark's classes and restores them. The other modules contain the
replacements. Each replacement passes calls that do not concern an ACID table to Spark.
"""
