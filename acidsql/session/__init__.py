"""What acidsql keeps for each Spark session: settings, metastore, caches, heartbeats, leases."""
