"""Documents fetched over HTTPS, from checked public addresses only."""
