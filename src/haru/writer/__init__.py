"""The write path: minutes later, in a process of its own."""
