"""The commands `wrap` and `unwrap`, and the entries to paste into a client's configuration."""
