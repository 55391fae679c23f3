// Reads the names of BPMN files from standard input, one a line, and prints what Camunda's rules say of each as JSON:
// {"file": [{"id", "rule", "message", "category"}]}.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { BpmnModdle } from 'bpmn-moddle';
import Linter from 'bpmnlint/lib/linter.js';
import NodeResolver from 'bpmnlint/lib/resolver/node-resolver.js';

const require = createRequire(import.meta.url);
const moddle = new BpmnModdle({
  modeler: require('modeler-moddle/resources/modeler.json'),
  zeebe: require('zeebe-bpmn-moddle/resources/zeebe.json')
});
const linter = new Linter({
  config: { extends: 'plugin:camunda-compat/camunda-cloud-8-7' },
  resolver: new NodeResolver({ require })
});

const said = {};
for (const file of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const { rootElement } = await moddle.fromXML(readFileSync(file, 'utf8'));
  const results = await linter.lint(rootElement);
  said[file] = Object.entries(results).flatMap(([ rule, reports ]) =>
    reports.map(({ id, message, category }) => ({ id, rule, message, category }))
  );
}
process.stdout.write(JSON.stringify(said));
