"""Haru: a voice assistant that remembers, and never makes you wait for it."""
