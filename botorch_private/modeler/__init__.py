"""The modeler's side: a release in, row indices out."""
