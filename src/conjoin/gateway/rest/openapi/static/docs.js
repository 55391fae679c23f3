"use strict";

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // It would ask a server of somebody else.
  validatorUrl: null,
});
