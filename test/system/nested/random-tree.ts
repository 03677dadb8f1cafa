/**
 * Random trees of nested stacks whose types, files and values come by several ways, and random changes of them. A seed
 * determines everything.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { randomOf } from '../../chaos/random.ts';
import type { StackInput } from '../stack-world.ts';

/** Draws an integer from 0, below the given one. */
type Random = (below: number) => number;

/** A source of random integers: the same seed gives the same ones. */
export function integersOf(seed: number): Random {
  const random = randomOf(seed);
  return (below) => Math.floor(random() * below);
}

const leaves = 3;
const kinds = ['direct', 'chain', 'group', 'made', 'nested', 'file'] as const;

/** The parts of a tree that changes replace. */
interface Tree {
  /** The parts of the stack in the middle. */
  readonly kind: readonly (typeof kinds)[number][];
  /** The number of the leaf's file that each type is mapped to. */
  readonly registry: readonly number[];
  /** The types that come as a value, by number. */
  readonly services: readonly number[];
  /** By leaf: a text in its file, and the default in its template. */
  readonly texts: readonly string[];
  readonly defaults: readonly string[];
  /** By leaf: the default in the environment. */
  readonly presets: readonly (string | undefined)[];
  /** A parameter of the root stack that is passed down. */
  readonly given: string;
  readonly hidden: boolean;
  /** Whether the types are a default of the template in the middle instead of a property. */
  readonly byDefault: boolean;
  readonly count: number;
  readonly script: string;
}

/** A tree of one to three parts. */
export function drawTree(random: Random): Tree {
  const all = Array.from({ length: leaves }, (_, index) => index);
  return {
    kind: Array.from({ length: 1 + random(3) }, () => kinds[random(kinds.length)] ?? 'direct'),
    registry: all.map(() => random(leaves)),
    services: all.filter(() => random(2) === 0),
    texts: all.map((index) => `t${index}`),
    defaults: all.map((index) => `d${index}`),
    presets: all.map((index) => (random(2) ? `e${index}` : undefined)),
    given: 'g',
    hidden: random(2) === 0,
    byDefault: random(2) === 0,
    count: random(3),
    script: 's',
  };
}

/** The tree with one or two random changes. */
export function changed(tree: Tree, random: Random): Tree {
  const at = random(leaves);
  const fresh = `n${random(1000)}`;
  const withOne = <T>(list: readonly T[], value: T): T[] => list.map((each, index) => (index === at ? value : each));
  const changes: readonly (() => Partial<Tree>)[] = [
    () => ({ registry: withOne(tree.registry, random(leaves)) }),
    () => ({
      services: tree.services.includes(at) ? tree.services.filter((each) => each !== at) : [...tree.services, at],
    }),
    () => ({ texts: withOne(tree.texts, fresh) }),
    () => ({ defaults: withOne(tree.defaults, fresh) }),
    () => ({ presets: withOne(tree.presets, random(3) ? fresh : undefined) }),
    () => ({ given: fresh }),
    () => ({ count: random(3) }),
    () => ({ script: fresh }),
    () => ({ hidden: !tree.hidden }),
    () => ({ byDefault: !tree.byDefault }),
  ];
  const next = { ...tree, ...changes[random(changes.length)]?.() };
  return random(4) === 0 ? changed(next, random) : next;
}

const version = 'heat_template_version: 2018-08-31';

/** The template of a leaf: its text, a parameter that only defaults give, and one that is passed. */
const leafOf = ({ texts, defaults }: Tree, index: number): string => `${version}
parameters:
  p${index}: {type: string, default: ${defaults[index]}}
  given: {type: string, default: nothing}
resources:
  value:
    type: OS::Heat::Value
    properties: {value: [${texts[index]}, {get_param: p${index}}, {get_param: given}]}
outputs: {all: {value: {get_attr: [value, value]}}}
`;

const partOf = (kind: Tree['kind'][number], { count }: Tree): string =>
  ({
    direct: `{type: My::T0, properties: {given: {get_param: given}}}`,
    chain: `{type: OS::Heat::ResourceChain, properties: {resources: {get_param: services}}}`,
    group: `{type: OS::Heat::ResourceGroup, properties: {count: ${count}, resource_def: {type: {get_param: one}}}}`,
    made: `{type: OS::Heat::ResourceChain, properties: {resources: [{str_replace: {template: My::TN, params: {N: {get_param: number}}}}]}}`,
    nested: `{type: inner.yaml, properties: {services: {get_param: services}}}`,
    file: `{type: OS::Heat::Value, properties: {value: {get_file: script.sh}}}`,
  })[kind];

const readOf = (kind: Tree['kind'][number]): string => (kind === 'file' ? 'value' : 'all');

/** The request for the tree. */
export function inputOf(tree: Tree): StackInput {
  const services = tree.services.map((type) => `My::T${type}`).join(',');
  const hidden = tree.hidden ? ', hidden: true' : '';
  const values = tree.byDefault
    ? ''
    : '{services: {get_param: services}, one: {get_param: one}, number: {get_param: number}, given: {get_param: given}}';
  const inside = (fallback: boolean): string => `
  services: {type: comma_delimited_list${fallback ? `, default: '${services}'` : ''}}
  one: {type: string${fallback ? `, default: 'My::T${tree.services[0] ?? 1}'` : ''}}
  number: {type: string${fallback ? `, default: '${tree.services.at(-1) ?? 2}'` : ''}}
  given: {type: string${fallback ? `, default: ${tree.given}` : ''}${hidden}}`;
  const defaults = Object.fromEntries(
    tree.presets.flatMap((preset, index) => (preset === undefined ? [] : [[`p${index}`, preset]])),
  );
  const environment: JsonObject = {
    resource_registry: Object.fromEntries(tree.registry.map((file, type) => [`My::T${type}`, `leaf${file}.yaml`])),
    ...(Object.keys(defaults).length > 0 && { parameter_defaults: defaults }),
  };
  return {
    template: `${version}
parameters:${inside(true)}
resources:
  mid: {type: mid.yaml${values && `, properties: ${values}`}}
outputs: {all: {value: {get_attr: [mid, all]}}}
`,
    files: {
      'mid.yaml': `${version}
parameters:${inside(tree.byDefault)}
resources:
${tree.kind.map((kind, index) => `  part${index}: ${partOf(kind, tree)}`).join('\n')}
outputs:
  all: {value: [${tree.kind.map((kind, index) => `{get_attr: [part${index}, ${readOf(kind)}]}`).join(', ')}]}
`,
      'inner.yaml': `${version}
parameters: {services: {type: comma_delimited_list}}
resources:
  chain: {type: OS::Heat::ResourceChain, properties: {resources: {get_param: services}}}
outputs: {all: {value: {get_attr: [chain, all]}}}
`,
      'script.sh': tree.script,
      ...Object.fromEntries(tree.texts.map((_, index) => [`leaf${index}.yaml`, leafOf(tree, index)])),
    },
    environment,
  };
}
