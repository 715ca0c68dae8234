"""Steps filled with slides: states as arrays, one step at a time, the best states kept."""
