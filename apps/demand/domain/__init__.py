"""Rules of demand that need no database."""
