"""How the server is doing: health, metrics, traces and request ids."""
