"""The page to read and try the interface: Swagger UI, served from here. It asks nobody but this server.

Nothing runs on it but the scripts that lie in `static`, and no other page may frame it.
"""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conjoin API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<div id="docs"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/docs.js"></script>
</html>
"""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
