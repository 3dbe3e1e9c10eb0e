"""Write transactions: their write intents, locks, snapshot and heartbeats; leases of readers."""
