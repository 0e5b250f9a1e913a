"""The commands of operation: `status`, `doctor`, `dlq`, `backup` and `restore`."""
