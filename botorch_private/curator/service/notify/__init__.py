"""Notifications: webhooks and e-mail about questions that wait, in counts alone."""
