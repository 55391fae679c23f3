"""How the server is doing: health, metrics and traces."""
