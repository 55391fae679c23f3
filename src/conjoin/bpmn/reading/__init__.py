"""From bytes to a document: XML within limits, the schema, and what older dialects leave out."""
