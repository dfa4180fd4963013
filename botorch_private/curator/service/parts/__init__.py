"""A curator's folder whose release is in parts: made of a table that does not fit into memory."""
