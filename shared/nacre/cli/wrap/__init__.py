"""The commands that change the files of clients: `connect`, `disconnect`, `wrap` and `unwrap`."""
