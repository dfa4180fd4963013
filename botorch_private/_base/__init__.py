"""What every part stands on: checks at the door, files, figures."""
