"""Files: listing, ORC tails, staging, settling."""
