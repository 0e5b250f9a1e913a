"""What implements the ports, with the vendors that it takes; one file for each."""
