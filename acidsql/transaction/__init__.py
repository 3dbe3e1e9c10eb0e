"""Write transactions: their write intents, locks, write ids and snapshot, commit and abort."""
