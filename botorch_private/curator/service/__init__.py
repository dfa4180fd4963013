"""The curator as a service: questions and answers over HTTP, kept on the disk before anybody is told.

Nothing here imports PyTorch but what makes a folder (`make_folder`, `initialize`) and what measures
(`worker`): a server starts in a second and is small.
"""
