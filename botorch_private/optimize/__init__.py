"""The modeler's side as a command: `botorch-private optimize`."""
