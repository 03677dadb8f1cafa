/**
 * The template language on one core: a large flat template, many instances of one nested template, and the two most
 * expensive functions. For comparison, each row shows the cost of reading the same text with `JSON.parse` and with the
 * package `yaml`.
 */
import { compile } from '@anneal/hot/compile.ts';
import type { CompileParameters } from '@anneal/hot/tree/compile-parameters.ts';
import { evaluate } from '@anneal/hot/evaluate.ts';
import { Mistakes } from '@anneal/hot/mistakes.ts';
import { parse } from '@anneal/hot/syntax/parse.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import { parse as parseYaml } from 'yaml';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { percentiles, type Bench, type Row } from './report.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';

const types = [...schedulingTypes, ...provisioningTypes, ...configurationTypes];
const header = 'heat_template_version: 2018-08-31\n';

/** Resources that refer to three earlier ones: by id, by attribute and in text. */
function flat(count: number): string {
  const before = (index: number, back: number): string => `r${Math.max(0, index - back)}`;
  const resources = Array.from({ length: count }, (_, index) =>
    index === 0
      ? '  r0:\n    type: OS::Heat::Value\n    properties: {value: first}\n'
      : `  r${index}:
    type: OS::Heat::Value
    properties:
      value:
        id: {get_resource: ${before(index, 1)}}
        of: {get_attr: [${before(index, 2)}, value]}
        text:
          list_join: ['-', [{get_param: zone}, {get_attr: [${before(index, 3)}, value]}]]
`,
  );
  return `${header}parameters:\n  zone: {type: string, default: eu}\nresources:\n${resources.join('')}`;
}

function nested(count: number): CompileParameters {
  const resources = Array.from(
    { length: count },
    (_, index) => `  n${index}:\n    type: node.yaml\n    properties: {name: node-${index}, zone: {get_param: zone}}\n`,
  );
  const inner = `${header}parameters:
  name: {type: string}
  zone: {type: string}
resources:
  config: {type: OS::Heat::Value, properties: {value: {str_replace: {template: 'N in Z', params: {N: {get_param: name}, Z: {get_param: zone}}}}}}
  after: {type: OS::Heat::Value, properties: {value: {get_attr: [config, value]}}}
outputs:
  text: {value: {get_attr: [after, value]}}
`;
  return {
    ...options,
    template: `${header}parameters:\n  zone: {type: string, default: eu}\nresources:\n${resources.join('')}`,
    files: { 'node.yaml': inner },
    maxResources: -1,
  };
}

function calls(count: number, call: (index: number) => string): string {
  const outputs = Array.from({ length: count }, (_, index) => `  o${index}:\n    value: ${call(index)}\n`);
  return `${header}parameters:\n  zone: {type: string, default: eu}\noutputs:\n${outputs.join('')}`;
}
const replacing = (index: number): string =>
  `{str_replace: {template: 'host-${index}.ZONE.example.org listens on PORT in ZONE', params: {ZONE: {get_param: zone}, PORT: ${index}}}}`;
const asking = (index: number): string =>
  `{yaql: {expression: "$.data.hosts.where($.up).select($.name + '-${index % 20}').orderBy($)", data: {hosts: [{name: b, up: true}, {name: a, up: true}, {name: c, up: false}]}}}`;

const options = { stackName: 'bench', stackId: '', projectId: 'p', types, maxResources: -1 };

function planOf(parameters: CompileParameters): Plan {
  const compiled = compile(parameters);
  if ('mistakes' in compiled) throw new Error(compiled.mistakes[0]?.message);
  return compiled.plan;
}

const readNodes = (text: string): unknown => parse({ text, file: undefined, mistakes: new Mistakes() });

function evaluateAll(plan: Plan): void {
  const scope = {
    templateVersion: plan.template_version,
    work: new EvaluationWork(),
    parameter: (name: string) => plan.parameters[name]?.value,
    reference: (name: string) => `${name}-id`,
    attribute: (name: string) => ({ value: `${name}-value` }),
  };
  for (const { properties } of Object.values(plan.resources))
    for (const value of Object.values(properties)) evaluate(value, scope);
  for (const { value } of Object.values(plan.outputs)) if (value) evaluate(value, scope);
}

interface Case {
  readonly case: string;
  readonly side: string;
  readonly n: number;
  readonly work: () => unknown;
}

/** Processor time of this thread in the best round. Other rounds include the effect of other work on the machine. */
function measure({ case: name, side, n, work }: Case, rounds: number): Row {
  const samples: number[] = [];
  const cpu: number[] = [];
  // The clock of a thread's processor time has a resolution of milliseconds.
  const times = Math.ceil(3000 / n);
  work();
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const before = process.threadCpuUsage();
    for (let time = 0; time < times; time += 1) work();
    const { user, system } = process.threadCpuUsage(before);
    samples.push(((performance.now() - start) * 1000) / n / times);
    cpu.push((user + system) / n / times);
  }
  return {
    bench: 'hot',
    case: name,
    backend: side,
    n,
    metric: 'processor time per item',
    unit: 'µs',
    value: Math.min(...cpu),
    ...percentiles(samples),
  };
}

/** Peak growth of the heap, in bytes per byte of input. Exact only with `node --expose-gc`. */
function memory(name: string, text: string, work: () => unknown): Row {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const result = work();
  const held = process.memoryUsage().heapUsed - before;
  globalThis.gc?.();
  const after = process.memoryUsage().heapUsed - before;
  if (result === undefined) throw new Error(`${name} returned nothing`);
  const row = (metric: string, bytes: number): Row => ({
    bench: 'hot',
    case: name,
    backend: 'anneal',
    n: text.length,
    metric,
    unit: 'bytes/byte',
    value: bytes / text.length,
  });
  return globalThis.gc
    ? row('kept by the plan, per byte of input', after)
    : row('heap while compiling, per byte of input', held);
}

export const hotBench: Bench = {
  name: 'hot',
  measures: 'sources',
  notes: [
    'One process, one thread, nothing kept between rounds; the first round, in which code is compiled, does not count.',
    'value: processor time of the one thread in the best round; p50 to p99: by the clock on the wall, over the rounds. An item is a resource, an instance or a call.',
    'floor: JSON.parse of the same document as JSON, and the package `yaml` on the same text, to plain values.',
  ],
  backends: [],
  run: ({ quick, say }) => {
    const rounds = quick ? 2 : 7;
    const rows: Row[] = [];
    const add = (item: Case): void => {
      rows.push(measure(item, rounds));
    };
    for (const count of [100, 1000, 10_000]) {
      const text = flat(count);
      // An object, like in the API, because a text above 512 Ki characters is refused.
      const json = JSON.stringify(parseYaml(text, { maxAliasCount: -1 }));
      const template = JSON.parse(json) as JsonObject;
      const plan = planOf({ ...options, template });
      const name = `flat, ${count} resources × 3 references`;
      add({ case: name, side: 'floor: JSON.parse', n: count, work: () => JSON.parse(json) as unknown });
      add({ case: name, side: 'floor: yaml', n: count, work: () => parseYaml(text) as unknown });
      add({ case: name, side: 'parse YAML', n: count, work: () => readNodes(text) });
      add({ case: name, side: 'parse JSON', n: count, work: () => readNodes(json) });
      add({ case: name, side: 'compile to plan, parsed', n: count, work: () => planOf({ ...options, template }) });
      if (text.length <= 524_288)
        add({
          case: name,
          side: 'compile to plan, text',
          n: count,
          work: () => planOf({ ...options, template: text }),
        });
      add({ case: name, side: 'evaluate', n: count, work: () => evaluateAll(plan) });
      rows.push(memory(name, json, () => planOf({ ...options, template })));
    }
    const instances = nested(500);
    add({
      case: '500 instances of one nested template',
      side: 'compile to plan',
      n: 500,
      work: () => planOf(instances),
    });
    for (const [name, count, call] of [
      ['2,000 str_replace', 2000, replacing],
      ['200 yaql', 200, asking],
    ] as const) {
      const template = calls(count, call);
      const plan = planOf({ ...options, template });
      add({ case: name, side: 'compile to plan', n: count, work: () => planOf({ ...options, template }) });
      add({ case: name, side: 'evaluate', n: count, work: () => evaluateAll(plan) });
    }
    if (!globalThis.gc) say('without --expose-gc, memory is what the heap held when the work ended');
    return Promise.resolve(rows);
  },
};
