"""The curator's side: records in, a release and answers out."""
