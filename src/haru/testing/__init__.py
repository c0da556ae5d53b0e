"""Real implementations of the ports that do what they are told: for Haru's tests, and for yours."""
