"""What every item store does alike: values, conditions, queries and writes."""
