"""REST: Camunda's `/v2`, Fleans' one endpoint, and our own `/conjoin/v1`. An edge: it reads, asks the service, tells.

Every endpoint is one line of a table (`endpoint.py`); routes and the OpenAPI document are made of the same tables.
"""
