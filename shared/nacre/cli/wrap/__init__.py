"""The commands `wrap` and `unwrap`, and what to paste into a client's configuration."""
