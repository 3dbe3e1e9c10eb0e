"""Files: listing, ORC tails, staging, finalising."""
