"""Dialect of SQLAlchemy 2: ``create_engine("acidsql://", creator=lambda: acidsql.connect(spark))``.

``dialect`` is the class that SQLAlchemy loads, ``compiler`` writes statements in Spark's SQL,
``types`` maps types, and ``reflection`` reports tables and columns.
"""
