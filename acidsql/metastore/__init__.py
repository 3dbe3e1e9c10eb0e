"""Metastores: tables, partitions, transactions, write ids, locks and the compaction queue.

``protocol`` is the contract of every metastore. ``embedded`` implements it with one SQLite file,
and ``hive`` calls a Hive Metastore.
"""
