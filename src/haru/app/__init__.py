"""The top floor: settings, wiring and the command line. Nothing imports it."""
