"""Metastores: tables, partitions, transactions, write ids, locks and the compaction queue.

``protocol`` is the contract of every metastore. ``embedded`` keeps it in one SQLite file, ``hive``
calls a Hive Metastore.
"""
