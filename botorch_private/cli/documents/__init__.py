"""The documents of --json, a file each: what is in them, in words that the manual shows as they are."""
