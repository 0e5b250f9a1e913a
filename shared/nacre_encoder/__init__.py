"""A sentence encoder that ships with Nacre: data with a licence, see NOTICE; no code."""
