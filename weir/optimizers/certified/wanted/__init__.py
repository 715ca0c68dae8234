"""The certified search where flows go only where they are wanted."""
