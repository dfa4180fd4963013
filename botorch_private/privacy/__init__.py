"""What a release promises, in numbers and in words; both sides know it."""
