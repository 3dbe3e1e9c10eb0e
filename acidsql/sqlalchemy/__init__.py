"""Dialect of SQLAlchemy 2: ``create_engine("acidsql://", creator=lambda: acidsql.connect(spark))``.

``dialect`` has what SQLAlchemy looks for, ``compiler`` writes statements in Spark's SQL, ``types``
maps types, ``reflection`` reports which tables there are.
"""
