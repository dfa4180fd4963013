"""Notifications: webhooks and e-mail about questions that wait. They hold counts, never an identifier."""
