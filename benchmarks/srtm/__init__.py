"""The experiments of the SRTM paper, run again."""
