"""Authentication of callers: tokens, passwords, and the tokens of an OIDC issuer."""
