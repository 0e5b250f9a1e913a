"""The page of relations to people, devices and organisations."""
