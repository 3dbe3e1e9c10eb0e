"""Snapshots, leases, and the Spark plans that read them."""
