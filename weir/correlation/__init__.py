"""Publishers that burst together, recognised by the times of their messages."""
