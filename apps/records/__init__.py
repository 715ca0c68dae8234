"""Records of what was sent, received and measured: taken in batches, kept, set aside."""
