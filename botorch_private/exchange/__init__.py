"""What crosses between the two parties: a release, and observations."""
