/** The engine alone: graphs of resources that cost nothing, with the real scheduling service, bus and store. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { stackCreate, stackDelete, stackShow, stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import type { CompileAnswer } from '@anneal/contracts/calls/templating.ts';
import { writeJson } from '@anneal/contracts/slices/json-slices.ts';
import { compile } from '@anneal/hot/compile.ts';
import { withDigests } from '@anneal/hot/tree/entry-digest.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import { v7 } from 'uuid';
import type { Counts } from './counted.ts';
import { embeddedEngine, natsEngine, project, rabbitmqEngine, type Engine, type EngineSource } from './engine-sides.ts';
import { cpuMicros } from './load.ts';
import { isChosen, percentiles, type Bench, type Row } from './report.ts';

type Shape = 'independent' | 'chain' | 'fan-in' | 'fan-out' | 'layered';

/** Names of the resources that resource `index` of `count` reads. */
const requires: Readonly<Record<Shape, (index: number, count: number) => readonly number[]>> = {
  independent: () => [],
  chain: (index) => (index === 0 ? [] : [index - 1]),
  'fan-in': (index, count) => (index === count - 1 ? Array.from({ length: count - 1 }, (_, other) => other) : []),
  'fan-out': (index) => (index === 0 ? [] : [0]),
  layered(index, count) {
    const width = Math.ceil(Math.sqrt(count));
    const above = Math.floor(index / width) - 1;
    return above < 0 ? [] : [0, 1, 2].map((next) => above * width + ((index + next) % width));
  },
};

/** `changed` resources have another value. */
function template(shape: Shape, count: number, changed: (index: number) => boolean): JsonObject {
  const resources = Array.from({ length: count }, (_, index) => {
    // Use references instead of values, so that the last value of a chain does not grow with the chain.
    const reads = requires[shape](index, count).map((other) => ({ get_resource: `r${other}` }));
    const own = changed(index) ? 'after' : 'before';
    return [`r${index}`, { type: 'OS::Heat::Value', properties: { value: [own, ...reads] } }];
  });
  return { heat_template_version: '2018-08-31', resources: Object.fromEntries(resources) as JsonObject };
}

type Accepted = Omit<CompileAnswer, 'resource_count'>;

async function accepted(engine: Engine, source: JsonObject): Promise<Accepted> {
  const compiled = compile({
    template: source,
    stackName: 'bench',
    stackId: '',
    projectId: project,
    types: schedulingTypes,
    maxResources: -1,
  });
  if ('mistakes' in compiled) throw new Error(compiled.mistakes[0]?.message);
  const plan = await engine.store.blobs.put(await writeJson(withDigests(compiled.plan)));
  return { plan, template: plan, environment: plan, files: plan, description: '' };
}

const actions = ['create', 'update nothing', 'update one leaf', 'update all', 'delete'] as const;
type Action = (typeof actions)[number];

interface Measured {
  readonly ms: number;
  /** Processor time of this process, without an external broker and database. */
  readonly cpuMicros: number;
  readonly counts: Counts;
}

/** One stack from create to delete. The time of an action counts from its request to the event of its end. */
async function life(
  engine: Engine,
  { shape, count, name }: { shape: Shape; count: number; name: string },
): Promise<Map<Action, Measured>> {
  const id = v7();
  const versions = {
    first: await accepted(
      engine,
      template(shape, count, () => false),
    ),
    leaf: await accepted(
      engine,
      template(shape, count, (index) => index === count - 1),
    ),
    all: await accepted(
      engine,
      template(shape, count, () => true),
    ),
  };
  const measured = new Map<Action, Measured>();
  const measure = async (action: Action, verb: 'create' | 'update' | 'delete', ask: () => Promise<unknown>) => {
    const before = { ...engine.counts };
    const ended = engine.nextEvent(id, [`stack.${verb}.completed`, `stack.${verb}.failed`]);
    const start = performance.now();
    const spent = cpuMicros();
    await ask();
    const event = await ended;
    const ms = performance.now() - start;
    const cpu = cpuMicros() - spent;
    if (event.type.endsWith('failed')) throw new Error(`${name}: ${JSON.stringify(event.data)}`);
    const counts = Object.fromEntries(
      Object.entries(engine.counts).map(([key, value]) => [key, value - before[key as keyof Counts]]),
    ) as unknown as Counts;
    measured.set(action, { ms, cpuMicros: cpu, counts });
  };
  const update = (what: Accepted) => () => engine.ask(stackUpdate, { id, project, ...what });
  const about = { id, name, project, owner: 'bench', timeout_minutes: null, on_failure: 'keep' as const, tags: [] };
  await measure('create', 'create', () => engine.ask(stackCreate, { ...about, ...versions.first }));
  await measure('update nothing', 'update', update(versions.first));
  await measure('update one leaf', 'update', update(versions.leaf));
  await measure('update all', 'update', update(versions.all));
  await measure('delete', 'delete', () => engine.ask(stackDelete, { id, project }));
  return measured;
}

function rowsOf(about: { shape: string; count: number; backend: string }, measured: Map<Action, Measured>): Row[] {
  const { shape, count, backend } = about;
  return [...measured].flatMap(([action, { ms, cpuMicros: cpu, counts }]) => {
    const row = { bench: 'engine', backend, n: count, case: `${shape}: ${action}` };
    return [
      { ...row, metric: 'time', unit: 'ms', value: ms },
      { ...row, metric: 'rate', unit: 'resources/s', value: (count / ms) * 1000 },
      { ...row, metric: 'processor', unit: 'µs per resource', value: cpu / count },
      { ...row, metric: 'store calls', unit: 'per resource', value: counts.storeCalls / count },
      { ...row, metric: 'documents', unit: 'written per resource', value: counts.documentsWritten / count },
      { ...row, metric: 'messages', unit: 'per resource', value: counts.messages / count },
      { ...row, metric: 'events', unit: 'per resource', value: counts.events / count },
    ];
  });
}

/** Many stacks at once: the wait of the first and of the last. */
async function crowd(engine: Engine, { backend, stacks, count }: { backend: string; stacks: number; count: number }) {
  const start = performance.now();
  const lives = await Promise.all(
    Array.from({ length: stacks }, (_, index) =>
      life(engine, { shape: 'layered', count, name: `crowd-${stacks}-${index}` }),
    ),
  );
  const seconds = (performance.now() - start) / 1000;
  const creates = lives.map((one) => one.get('create')?.ms ?? Number.NaN);
  const row = { bench: 'engine', backend, n: stacks * count, case: `${stacks} stacks of ${count} at once` };
  return [
    { ...row, metric: 'create', unit: 'ms', value: percentiles(creates).p50, ...percentiles(creates) },
    { ...row, metric: 'whole lives', unit: 's', value: seconds },
  ];
}

/** A stack with many outputs, read many times. */
async function showing(engine: Engine, { backend, count }: { backend: string; count: number }): Promise<Row[]> {
  const source = template('independent', count, () => false);
  const outputs = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`o${index}`, { value: { get_attr: [`r${index}`, 'value'] } }]),
  );
  const id = v7();
  const ended = engine.nextEvent(id, ['stack.create.completed']);
  const what = await accepted(engine, { ...source, outputs });
  const about = {
    id,
    name: 'shown',
    project,
    owner: 'bench',
    timeout_minutes: null,
    on_failure: 'keep' as const,
    tags: [],
  };
  await engine.ask(stackCreate, { ...about, ...what });
  await ended;
  const row = { bench: 'engine', backend, n: count, unit: 'ms' };
  const timed = async (outputsToo: boolean): Promise<number[]> => {
    const samples: number[] = [];
    for (let run = 0; run < 20; run += 1) {
      const start = performance.now();
      await engine.ask(stackShow, { project, stack: id, outputs: outputsToo });
      samples.push(performance.now() - start);
    }
    return samples;
  };
  const [bare, whole] = [percentiles(await timed(false)), percentiles(await timed(true))];
  const deleted = engine.nextEvent(id, ['stack.delete.completed']);
  await engine.ask(stackDelete, { id, project });
  await deleted;
  return [
    { ...row, case: 'show a stack', metric: 'time', value: bare.p50, ...bare },
    { ...row, case: `show a stack with ${count} outputs`, metric: 'time', value: whole.p50, ...whole },
  ];
}

function peakMemory(): { stop: () => number } {
  let peak = 0;
  const look = (): void => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 20);
  return {
    stop() {
      clearInterval(timer);
      look();
      return peak / 2 ** 20;
    },
  };
}

export const engineBench: Bench = {
  name: 'engine',
  measures: 'sources',
  notes: [
    'Resources are OS::Heat::Value: what is measured is the engine, its journal, its messages and its events.',
    'Plans are compiled beforehand; the time is from the request to the published event of the end, in one process.',
    'One stack of 100 goes through its life before anything counts. For scale: Heat needs 31 s for 500 independent resources.',
  ],
  backends: ['embedded', 'rabbitmq', 'nats'],
  async run(options) {
    const { quick, say } = options;
    const rows: Row[] = [];
    const sources: readonly EngineSource[] = [embeddedEngine, rabbitmqEngine, natsEngine];
    for (const source of sources.filter(({ name }) => isChosen(name, options))) {
      const engine = await source.open();
      if ('missing' in engine) {
        say(`${source.name}: left out: ${engine.missing}`);
        continue;
      }
      const backend = source.name;
      const isEmbedded = source === embeddedEngine;
      const sizes = [10, 100, 1_000, 10_000].slice(0, (isEmbedded ? 4 : 3) - (quick ? 1 : 0));
      try {
        await life(engine, { shape: 'layered', count: 100, name: 'warm-up' });
        const memory = peakMemory();
        for (const shape of Object.keys(requires) as Shape[]) {
          for (const count of sizes) {
            // Skip a fan-in and a chain of ten thousand, because no real stack has one.
            if (count > 1_000 && (shape === 'chain' || shape === 'fan-in')) continue;
            say(`${backend}: ${shape}, ${count}`);
            rows.push(
              ...rowsOf({ shape, count, backend }, await life(engine, { shape, count, name: `${shape}-${count}` })),
            );
          }
        }
        for (const stacks of [1, 10, quick ? 20 : 100])
          rows.push(...(await crowd(engine, { backend, stacks, count: 100 })));
        rows.push(...(await showing(engine, { backend, count: quick ? 100 : 1_000 })));
        const peak = {
          bench: 'engine',
          backend,
          n: sizes.at(-1) ?? 0,
          case: 'all of the above',
          metric: 'peak memory',
        };
        rows.push({ ...peak, unit: 'MiB', value: memory.stop() });
      } finally {
        await engine.close();
      }
    }
    return rows;
  },
};
