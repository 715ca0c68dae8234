"""State machines as tables; nothing else in Weir knows which change follows which."""
