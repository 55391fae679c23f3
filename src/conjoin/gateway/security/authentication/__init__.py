"""Who calls: tokens, passwords, issuers and certificates."""
