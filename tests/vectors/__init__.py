"""The product's own security vectors, and the programs that make them."""
