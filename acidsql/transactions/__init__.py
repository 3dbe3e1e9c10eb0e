"""Write transactions: write intents, locks, write ids, snapshot, commit and abort."""
