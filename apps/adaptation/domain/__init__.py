"""Rules and sentences of adaptation, without a database."""
