"""HTTP below the endpoints, for REST and the console: the server, connections, headers, requests, problems."""
