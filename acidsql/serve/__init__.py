"""Servers of ACID tables: Spark's Thrift server (JDBC and ODBC), and Spark Connect."""
