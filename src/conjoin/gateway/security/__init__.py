"""Security of the gateway: authentication, what a caller may do (`grants.py`, `rules.py`), and what it may see.

Every call has a rule. What a caller may touch is checked by the arguments of the call, in one place for gRPC and REST
(`authorized_service.py`); what it may see is narrowed where rows are read (`visible_store.py`), so that no list can
forget it.
"""
