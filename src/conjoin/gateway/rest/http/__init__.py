"""HTTP below the endpoints: the server, connections, headers, and what holds for every request."""
