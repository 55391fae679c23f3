"""Two small tables of your own kind: messages, and who waited for them."""
