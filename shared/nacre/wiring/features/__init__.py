"""One file for each feature, composed for the laptop and for AWS."""
