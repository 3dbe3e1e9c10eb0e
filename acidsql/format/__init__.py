"""The on-disk contract of Hive full-ACID v2 tables, as pure functions.

Directory and file names, bucket properties, valid-write-id lists, directory selection, partition
names and ORC tails. Nothing here knows Spark, reads a file or asks the time.
"""
