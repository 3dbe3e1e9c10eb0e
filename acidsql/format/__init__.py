"""On-disk contract of Hive full-ACID v2 tables, as pure functions.

Directory and file names, bucket properties, valid write id lists, directory selection, partition
names and ORC tails. This package has no Spark, reads no files and asks no clock.
"""
