"""On-disk contract of Hive full-ACID v2 tables, as pure functions.

The package covers directory and file names, bucket properties, valid write id lists, directory
selection, partition names and ORC tails. It does not use Spark, files or the clock.
"""
