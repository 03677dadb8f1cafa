/** Whole stacks with the real server: gateway, templating, scheduling, their queues and journals. */
import { join } from 'node:path';
import { repository, startServer, type TestServer } from '../e2e/server.ts';
import { fleet } from '../e2e/templates.ts';
import { percentiles, type Bench, type BenchOptions, type Row } from './report.ts';
import { settingsNote, settingsOf } from './server-settings.ts';
import { useOf, type Step } from './server-use.ts';
import { valueChain, group, randomStrings, testResources, values, valuesWithLeaf } from './stack/shapes.ts';
import { create, crowd, remove, update } from './stack/work.ts';

/** Settings that the cases need beyond the defaults of this and of earlier revisions. */
const settings = { ANNEAL_TEMPLATING_MAX_RESOURCES: '30000' };

interface Sizes {
  readonly large: number;
  readonly small: number;
  readonly crowd: number;
  readonly each: number;
  readonly hosts: number;
  readonly updates: number;
}
const full: Sizes = { large: 10_000, small: 1_000, crowd: 100, each: 100, hosts: 50, updates: 5 };
const short: Sizes = { large: 1_000, small: 100, crowd: 10, each: 100, hosts: 5, updates: 3 };

/** The samples of one figure, in the order of the cases. */
class Figures {
  readonly #found = new Map<string, { row: Omit<Row, 'value'>; samples: number[] }>();

  add(name: string, n: number, metric: string, sample: { unit: string; value: number }): void {
    const row = { bench: 'stack', case: name, backend: 'embedded', n, metric, unit: sample.unit };
    const found = this.#found.get(`${name} ${metric}`) ?? { row, samples: [] as number[] };
    found.samples.push(sample.value);
    this.#found.set(`${name} ${metric}`, found);
  }

  step(name: string, n: number, action: string, { wall, cpu }: Step): void {
    this.add(name, n, action, { unit: 's', value: wall });
    this.add(name, n, `${action}, processor`, { unit: 's', value: cpu });
  }

  rows(): Row[] {
    return [...this.#found.values()].map(({ row, samples }) => {
      const shares = percentiles(samples);
      return { ...row, value: shares.p50, ...shares };
    });
  }
}

interface Place {
  readonly server: TestServer;
  readonly figures: Figures;
  readonly sizes: Sizes;
}
interface Case {
  readonly name: string;
  readonly run: (name: string, place: Place) => Promise<void>;
}

/** Creates and deletes one stack. `between` does more with it meanwhile. */
const life =
  (n: number, template: string, between?: (name: string, place: Place) => Promise<void>): Case['run'] =>
  async (name, place) => {
    const { server, figures } = place;
    figures.step(name, n, 'create', (await create(server, name, template)).complete);
    await between?.(name, place);
    figures.step(name, n, 'delete', await remove(server, name));
  };

/** Changes one resource of the stack several times: by the whole template, then by a parameter of it. */
const changeOne =
  (n: number): ((name: string, place: Place) => Promise<void>) =>
  async (name, { server, figures, sizes }) => {
    for (const how of ['template', 'parameter'] as const) {
      for (let number = 1; number <= sizes.updates; number += 1) {
        const leaf = `${how}${number}`;
        const change = how === 'template' ? { template: valuesWithLeaf(n, leaf) } : { parameters: { leaf } };
        const { accepted, complete } = await update(server, name, change);
        const add = (metric: string, seconds: number): void =>
          figures.add(name, n, `one leaf by ${how}${metric}`, { unit: 'ms', value: seconds * 1000 });
        add('', complete.wall);
        add(', accepted', accepted);
        add(', processor', complete.cpu);
      }
    }
  };

const casesOf = ({ large, small, crowd: stacks, each, hosts }: Sizes, trace: string): Case[] => [
  { name: `flat-${small}`, run: life(small, values(small)) },
  { name: `chain-${small / 2}`, run: life(small / 2, valueChain(small / 2)) },
  { name: `flat-${large}`, run: life(large, valuesWithLeaf(large, 'first'), changeOne(large)) },
  { name: `random-strings-${large}`, run: life(large, randomStrings(large)) },
  { name: `test-resources-${large}`, run: life(large, testResources(large)) },
  { name: `group-${large}`, run: life(large, group(large)) },
  {
    name: `${stacks}-stacks-of-${each}`,
    async run(name, { server, figures }) {
      const found = await crowd(server, stacks, values(each));
      figures.step(name, stacks * each, 'create', found.create);
      figures.step(name, stacks * each, 'delete', found.delete);
    },
  },
  { name: `fleet-${hosts}x10`, run: life(hosts * 10, fleet({ hosts, configsPerHost: 10, trace })) },
];

/** The first large template after the start of a server, whose workers have not started and whose code is not compiled. */
async function first({ sizes, figures }: Omit<Place, 'server'>, start: () => Promise<TestServer>): Promise<void> {
  for (const n of [sizes.small, sizes.large]) {
    const server = await start();
    try {
      const name = `first-${n}`;
      const { accepted, complete } = await create(server, name, values(n));
      figures.add(name, n, 'accepted', { unit: 's', value: accepted });
      figures.step(name, n, 'create', complete);
    } finally {
      await server.dispose();
    }
  }
}

export const stackBench: Bench = {
  name: 'stack',
  measures: 'server',
  notes: [
    'The server is a process of its own on the embedded backends; times are from the client’s request to the settled stack, read every 5 ms.',
    'processor: of the server’s process with its workers, in the same time.',
    settingsNote(settings),
    'flat, random-strings, test-resources: independent OS::Heat::Value, RandomString and TestResource; the last ones answer by messages.',
    'one leaf: an update that changes one of the flat resources, by another template (PUT) or another parameter (PATCH). accepted: until the answer.',
    'first-n: the first request to a server that has just started. n-stacks-of-m: all created at once. A round does every case once in one server.',
    'fleet: simulated machines of the lab, power-on and boot included, every script a real process.',
  ],
  backends: ['embedded'],
  async run({ quick, say, rounds = quick ? 1 : 5, server: sources }: BenchOptions) {
    const sizes = quick ? short : full;
    const figures = new Figures();
    const env = await settingsOf(sources, settings);
    const start = (lab: number) => startServer({ lab, env, flags: [], sources });
    const tried = async (name: string, run: () => Promise<void>): Promise<boolean> =>
      run().then(
        () => true,
        (error: unknown) => {
          // An earlier revision may lack what a case needs.
          if (sources === repository) throw error;
          say(`${name}: left out: ${error instanceof Error ? error.message : String(error)}`);
          return false;
        },
      );
    for (let round = 0; round < rounds; round += 1)
      await tried('first', () => first({ sizes, figures }, () => start(0)));
    const server = await start(sizes.hosts);
    try {
      await life(10, values(10))('warm-up', { server, figures: new Figures(), sizes });
      const able = new Set(casesOf(sizes, '').map(({ name }) => name));
      for (let round = 0; round < rounds; round += 1) {
        for (const { name, run } of casesOf(sizes, join(server.data, `trace${round}`))) {
          if (!able.has(name)) continue;
          say(`round ${round + 1} of ${rounds}: ${name}`);
          if (!(await tried(name, () => run(name, { server, figures, sizes })))) able.delete(name);
        }
      }
      figures.add('all', sizes.large, 'peak memory', { unit: 'MiB', value: useOf(server).peakMebibytes });
    } finally {
      await server.dispose();
    }
    return figures.rows();
  },
};
