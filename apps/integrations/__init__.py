"""Changes at ServiceNow or elsewhere that plans open, wait for and close."""
