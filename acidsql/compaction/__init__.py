"""Compaction: the worker merges directories, the cleaner removes directories no reader needs."""
