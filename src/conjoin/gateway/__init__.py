"""The gateway: gRPC and REST, as existing clients speak them. It decides nothing.

`service.py` is everything that a client can do, as async methods; `grpc/` and `rest/` convert messages of the wire to
its values and back; `statuses.py` is the one table from refusals and errors to statuses.
"""
