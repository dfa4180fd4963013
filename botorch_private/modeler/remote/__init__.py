"""A curator on another machine."""
