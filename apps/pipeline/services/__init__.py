"""Sum records up, by minute as they come and as tables of facts."""
