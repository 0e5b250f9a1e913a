"""Input checks that all blob stores, all queues and all vaults share."""
