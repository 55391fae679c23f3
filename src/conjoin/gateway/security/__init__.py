"""Security of the gateway: who calls (`authenticating.py`), what they may (`grants.py`, `rules.py`), what they see.

Every call has a rule. What a caller may touch is checked on the values themselves, in one place for all edges
(`authorized_service.py`); what it may see is narrowed where rows are read (`visible_store.py`), so that no list can
forget it.
"""
