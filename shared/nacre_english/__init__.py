"""An English sentence encoder for Nacre: data with a licence, see NOTICE; no code."""
