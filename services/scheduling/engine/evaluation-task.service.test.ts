import { expect, it } from 'vitest';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';
import { knownTypes } from '@anneal/hot/known.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { readsKey } from './reads.ts';
import { callOf, literal, planWith, resource } from '../testing/running-service.ts';
import { evaluateTask } from './evaluation-task.ts';
import { createEvaluation } from './evaluation.ts';
import type { HeavyTask, HeavyText } from './heavy.ts';

const secrets = createSecrets([new Uint8Array(32).fill(1)]);
const limits = defaultEvaluation;
const size = { bytes: 1_000_000, setting: 'test' };
const sizes = { value: size, resource: size, stack: size };
const named: ResourceType = {
  type: 'Example::Named',
  properties: {},
  attributes: {},
  open_properties: true,
  open_attributes: true,
  reference: 'label',
};
const typeOf = (type: string): ResourceType | undefined => [named, ...knownTypes].find((each) => each.type === type);
const stack = { id: 'stack-id', name: 'web', project: 'p', parent: null, tags: ['t'] } as unknown as StackDocument;

const peerOf = (name: string, more: Partial<ResourceDocument>): ResourceDocument =>
  ({
    id: `id of ${name}`,
    name,
    type: 'OS::Heat::Value',
    nested: null,
    metadata: { m: name },
    physical_id: `physical ${name}`,
    physical_name: `web-${name}`,
    attributes: {},
    properties: { p: 1 },
    ...more,
  }) as unknown as ResourceDocument;
const peers = [
  peerOf('plain', { attributes: { value: { deep: [1, 2] }, other: 'o', show: 's' } }),
  peerOf('sealed', { attributes: { value: secrets.seal({ deep: 'hidden' }) } }),
  peerOf('named', { type: named.type, attributes: { label: 'its label' } }),
  peerOf('nested', {
    type: 'web.yaml',
    nested: 'template',
    attributes: { out: 'seven', [readsKey]: [{ path: ['resource.a', 'value'], value: secrets.seal('inside') }] },
  }),
  peerOf('own', { type: 'web.yaml', nested: 'template', attributes: { 'OS::stack_id': 'its own reference' } }),
  peerOf('group', {
    type: 'OS::Heat::ResourceGroup',
    nested: 'group',
    attributes: { refs: ['a', 'b'], [readsKey]: [{ path: ['attributes', 'x'], value: { 0: 'first' } }] },
  }),
  peerOf('noted', { attributes: { value: 'in the metadata' } }),
  peerOf('outside', { attributes: { value: 'an external id' } }),
  peerOf('scaled', { type: 'AWS::AutoScaling::AutoScalingGroup', nested: 'group' }),
];
const peer = (name: string): ResourceDocument | undefined => peers.find((each) => each.name === name);

const expressions: readonly Expression[] = [
  callOf('get_param', 'list', 1),
  callOf('get_param', 'password'),
  { kind: 'call', function: 'get_param', arguments: callOf('get_param', 'which') },
  callOf('get_param', 'OS::stack_id'),
  callOf('get_param', 'OS::stack_name'),
  callOf('get_param', 'OS::project_id'),
  callOf('get_attr', 'plain', 'value', 'deep', 1),
  { kind: 'call', function: 'get_attr', arguments: literal(['plain']) },
  {
    kind: 'call',
    function: 'get_attr',
    arguments: { kind: 'list', items: [literal('plain'), callOf('get_param', 'attribute')] },
  },
  callOf('get_attr', 'sealed', 'value', 'deep'),
  callOf('get_attr', 'nested', 'resource.a', 'value'),
  callOf('get_attr', 'group', 'attributes', 'x'),
  callOf('get_resource', 'plain'),
  callOf('get_resource', 'named'),
  callOf('get_resource', 'nested'),
  callOf('get_resource', 'own'),
  callOf('get_resource', 'scaled'),
  {
    kind: 'call',
    function: 'list_join',
    arguments: {
      kind: 'list',
      items: [
        literal('-'),
        { kind: 'list', items: [callOf('get_attr', 'nested', 'out'), callOf('get_resource', 'own')] },
      ],
    },
  },
];
/** Takes more work than the event loop gives. */
const heavy = callOf('yaql', { expression: 'range(0, 120).select(range(0, 190).sum()).sum()', data: {} });

const plan: Plan = planWith([], {
  parameters: {
    list: { type: 'json', value: ['a', 'b'], hidden: false },
    password: { type: 'string', value: secrets.seal('s3cret'), hidden: true },
    which: { type: 'string', value: 'attribute', hidden: false },
    attribute: { type: 'string', value: 'other', hidden: false },
  },
});

/** The evaluation of a worker without a limit for the event loop, and that of the event loop with tasks for a worker. */
function bothWays(): {
  direct: ReturnType<typeof createEvaluation>;
  byTask: ReturnType<typeof createEvaluation>;
  tasks: HeavyTask[];
} {
  const tasks: HeavyTask[] = [];
  const resultOf = ({ text }: HeavyText) => {
    const task = JSON.parse(text) as HeavyTask;
    tasks.push(task);
    return { value: evaluateTask(task, { secrets, limits }) };
  };
  return {
    direct: createEvaluation({ secrets, typeOf, sizes, limits }),
    byTask: createEvaluation({ secrets, typeOf, sizes, limits, heavy: { resultOf } }),
    tasks,
  };
}

const missing = callOf('get_attr', 'missing', 'value');

it.each<[string, boolean, readonly Expression[]]>([
  ['what exists', true, expressions],
  ['what is missing', false, [missing]],
])('a task holds all that its evaluation reads: %s', (_, isWhole, read) => {
  const entry: PlanResource = resource(
    'r',
    { value: { kind: 'list', items: [heavy, ...read] } },
    { metadata: { kind: 'list', items: [callOf('get_attr', 'noted', 'value'), ...read] } },
  );
  const external: PlanResource = { ...entry, external_id: callOf('get_attr', 'outside', 'value') };
  const outputs = { o: { name: 'o', value: entry.properties['value'] ?? missing } };
  const { direct, byTask, tasks } = bothWays();
  const [wanted, found] = [direct, byTask].map((evaluation) => {
    const tools = evaluation.toolsAt({
      moment: { now: 0, entropy: new Uint8Array(), sources: new Map() },
      graceMs: 0,
      limit: 1,
    });
    const resolved = [entry, external].map((each) => tools.resolve({ plan, resource: each, stack, peer }));
    return [...resolved, evaluation.outputs({ plan: { ...plan, outputs }, stack, peer })];
  });
  expect(found).toEqual(wanted);
  expect(wanted?.[0]).toMatchObject(isWhole ? { ok: true } : { ok: false });
  expect(tasks.map(({ kind }) => kind)).toEqual(['resolve', 'resolve', 'outputs']);
});
