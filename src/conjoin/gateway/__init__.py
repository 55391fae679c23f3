"""The gateway: what existing clients speak, over gRPC and REST. An edge: it decides nothing.

`service.py` is everything that a client may ask, as async methods; `grpc/` and `rest/` turn messages of the wire into
its values and back; `statuses.py` is the one table from refusals and errors to statuses.
"""
