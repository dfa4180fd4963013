"""The command `botorch-private curator`."""
