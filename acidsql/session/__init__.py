"""State of acidsql for a Spark session: settings, metastore, caches, heartbeats and leases."""
