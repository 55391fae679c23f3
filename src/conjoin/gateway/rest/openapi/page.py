"""A small page to try the interface: it reads the OpenAPI document and asks nobody but this server.

Its script and its style are allowed by their hashes, so nothing else runs on it; and no other page may frame it.
"""

from base64 import b64encode
from hashlib import sha256

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conjoin: try the interface</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
  summary { cursor: pointer; padding: .25rem 0; }
  summary code { font-weight: 600; }
  textarea, input { box-sizing: border-box; font: 14px/1.4 ui-monospace, monospace; width: 100%; }
  label { display: block; margin: .5rem 0; }
  pre { background: color-mix(in srgb, currentColor 8%, transparent); overflow: auto; padding: .75rem; }
</style>
<h1>Conjoin</h1>
<p>Every endpoint of this server. The same as <a href="/openapi.json">a document for programs</a>.</p>
<main></main>
<script>
const main = document.querySelector("main");
const element = (name, text) => Object.assign(document.createElement(name), { textContent: text ?? "" });

function field(form, name, label, kind = "input") {
  const box = element("label", label);
  const input = element(kind);
  input.name = name;
  box.append(input);
  form.append(box);
  return input;
}

function example(schema, schemas) {
  if (schema.$ref) return example(schemas[schema.$ref.split("/").pop()], schemas);
  const needed = schema.required ?? [];
  return Object.fromEntries(needed.map((name) => [name, ""]));
}

async function send(event, path, method, types, result) {
  event.preventDefault();
  const given = new FormData(event.target);
  let address = path.replace(/\\{(\\w+)\\}/g, (_, name) => encodeURIComponent(given.get(name)));
  const query = [...given].filter(([name, value]) => name.startsWith("?") && value);
  if (query.length) address += "?" + new URLSearchParams(query.map(([name, value]) => [name.slice(1), value]));
  const body = given.get("body");
  const request = { method, headers: body ? { "Content-Type": types[0] } : {}, body: body || undefined };
  const answer = await fetch(address, request);
  result.textContent = `${answer.status} ${answer.statusText}\\n${await answer.text()}`;
}

function show(path, method, operation, schemas) {
  const details = element("details"), summary = element("summary"), form = element("form"), result = element("pre");
  summary.append(element("code", `${method.toUpperCase()} ${path}`), ` ${operation.summary}`);
  const types = Object.keys(operation.requestBody?.content ?? {});
  for (const it of operation.parameters ?? []) {
    field(form, it.in === "query" ? `?${it.name}` : it.name, `${it.name} ${it.description ?? ""}`);
  }
  if (types.length && types[0] !== "multipart/form-data") {
    const input = field(form, "body", types.join(" or "), "textarea");
    input.rows = 4;
    const content = operation.requestBody.content[types[0]];
    const shown = content.example ?? example(content.schema, schemas);
    input.value = typeof shown === "string" ? shown : JSON.stringify(shown, null, 2);
  }
  form.append(element("button", "Send"));
  form.addEventListener("submit", (event) => send(event, path, method.toUpperCase(), types, result));
  details.append(summary, form, result);
  main.append(details);
}

fetch("/openapi.json").then((answer) => answer.json()).then((told) => {
  for (const [path, methods] of Object.entries(told.paths)) {
    for (const [method, operation] of Object.entries(methods)) show(path, method, operation, told.components.schemas);
  }
});
</script>
</html>
"""


def _hash(tag: str) -> str:
    inline = PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; script-src {_hash('script')}; style-src {_hash('style')}; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
