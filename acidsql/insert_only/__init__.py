"""Insert-only transactional tables: Spark's own files under Hive's directory names."""
