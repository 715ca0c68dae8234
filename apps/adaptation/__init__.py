"""Let parts of a bucket follow the traffic while a standing order is in force, and show them."""
