"""What crosses between the two parties: a release, observations, and how a row is asked for."""
