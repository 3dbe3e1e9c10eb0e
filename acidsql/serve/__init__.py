"""Spark's Thrift server over ACID tables, for clients that speak JDBC, ODBC or Hive's protocol."""
