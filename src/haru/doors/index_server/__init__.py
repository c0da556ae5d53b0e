"""The index server: the contract of the hosted search API on HTTP, over any back end."""
