"""Doors: ways in for people and programs."""
