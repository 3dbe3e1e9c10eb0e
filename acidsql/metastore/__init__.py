"""Tables, partitions, transactions, write ids, locks and the compaction queue.

``protocol`` says what every metastore does; ``embedded`` does it in one SQLite file. ``heartbeat``
keeps transactions alive and ``locking`` waits for locks, over any implementation.
"""
