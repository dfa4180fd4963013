"""The command `botorch-private ranges`: help with declaring features, never from the table."""
