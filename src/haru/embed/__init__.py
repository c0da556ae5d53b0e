"""Embedders: text to vectors, on this machine or behind a URL."""
