"""How busy the disks are, and who waits for them."""
