"""One file per broker product; each imports its own client library and nobody else's."""
