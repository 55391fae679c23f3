"""The gRPC edge: `gateway_protocol.Gateway`, as Zeebe's clients speak it."""
