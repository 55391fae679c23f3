// Reads [[text, variables], ...] from standard input, writes [{value, warnings} or {error}, ...] to standard output.
import { readFileSync } from 'node:fs';
import { evaluate } from 'feelin';

function answer([text, variables]) {
  try {
    const { value, warnings } = evaluate(text, variables);

    return { value: value ?? null, warnings: warnings.map(({ type }) => type) };
  } catch (error) {
    return { error: String(error.message) };
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(answer)));
