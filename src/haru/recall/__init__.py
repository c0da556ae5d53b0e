"""The read path: between the last word and the first."""
