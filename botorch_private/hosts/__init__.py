"""Other programs that keep experiments, and ask what to measure next. Each needs its own package."""
