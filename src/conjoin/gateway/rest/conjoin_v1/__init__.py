"""Conjoin's own interface, `/conjoin/v1`. One file for each subject, with its table of endpoints."""

from conjoin.gateway.rest.conjoin_v1 import bulk, inbox, messages, store

ENDPOINTS = (*messages.ENDPOINTS, *bulk.ENDPOINTS, *inbox.ENDPOINTS, *store.ENDPOINTS)
