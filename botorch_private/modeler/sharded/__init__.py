"""A search whose rows are held by several processes, of one machine or of many."""
