"""What each CPU did when: the ledger's tables, and sums over them."""
