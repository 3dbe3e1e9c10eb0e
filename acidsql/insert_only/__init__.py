"""Insert-only transactional tables: files in any format of Hive, in ACID directories."""
