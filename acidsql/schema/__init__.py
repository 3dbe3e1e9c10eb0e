"""Schemas: columns of tables, ACID files, and limits of Spark's ORC reader and writer."""
