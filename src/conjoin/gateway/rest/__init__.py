"""REST: Camunda's `/v2`, Fleans' one endpoint, and our own `/conjoin/v1`. It reads, calls the service and encodes.

Every endpoint is an entry of a table (`endpoint.py`); routes and the OpenAPI document are made from the same tables.
"""
