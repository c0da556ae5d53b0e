"""`haru bench`: speed and quality, measured."""
