"""The curator as a service: questions and answers over HTTP, kept on the disk before anybody is told.

Nothing here imports PyTorch: a server starts in a second and is small.
"""
