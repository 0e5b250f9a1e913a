"""What the owner's pages show and do, as plain values: nothing here knows of HTTP or HTML."""
