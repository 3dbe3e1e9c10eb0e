"""Files of tables: listing, ORC tails, staging, finalising."""
