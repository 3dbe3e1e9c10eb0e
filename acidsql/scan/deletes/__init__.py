"""Delete events in a scan: which rows they remove, by a delete bitmap or by a join."""
