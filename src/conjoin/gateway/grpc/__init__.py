"""The gRPC edge: `gateway_protocol.Gateway`, as Zeebe's clients speak it."""

import os

# What it would write by itself is about bytes that clients send, and some of those bytes. Errors of ours are raised.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
