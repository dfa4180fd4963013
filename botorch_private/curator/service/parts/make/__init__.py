"""Making a folder whose release is in parts; a server needs none of it."""
