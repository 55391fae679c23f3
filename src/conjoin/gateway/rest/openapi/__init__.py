"""The OpenAPI document, made of the tables that the routes are made of, and the page that shows it."""
