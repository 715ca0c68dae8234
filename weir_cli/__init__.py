"""The command line `weir`: systems as files, plans and what becomes of them, over the REST API."""
