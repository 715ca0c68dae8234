"""The experiments of the slides of Tock, Naaman, Harpaz and Gershinsky, run again."""
