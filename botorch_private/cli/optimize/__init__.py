"""The command `botorch-private optimize`: a search that goes on after a crash."""
