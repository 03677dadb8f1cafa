/** Values from outside are only data: shapes that Anneal uses internally come back unchanged. */
import { hostCreate, hostShow } from '@anneal/contracts/calls/hosts.ts';
import { queueClaim, queuePost } from '@anneal/contracts/calls/queues.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { stackExport } from '@anneal/contracts/calls/stack-history.ts';
import { portable } from '@anneal/gateway/heat/stacks/portable.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from './internal-shapes.ts';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open({}, { hosts: true });
});
afterAll(() => world.close());

const inner = `
heat_template_version: 2018-08-31
parameters: {j: {type: json}}
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {get_param: j}}, metadata: {get_param: j}}
outputs:
  given: {value: {get_attr: [v, value]}}
  $reads: {value: {get_param: j}}
`;
const template = `
heat_template_version: 2018-08-31
parameters: {j: {type: json}, d: {type: json}}
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {get_param: j}}, metadata: {get_param: j}}
  one: {type: inner.yaml, properties: {j: {get_param: j}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::Value, properties: {type: json, value: {get_attr: [v, value]}}}}
  groups:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: inner.yaml, properties: {j: {get_attr: [v, value]}}}}
outputs:
  parameter: {value: {get_param: j}}
  default: {value: {get_param: d}}
  value: {value: {get_attr: [v, value]}}
  nested: {value: {get_attr: [one, given]}}
  named: {value: {get_attr: [one, $reads]}}
  member: {value: {get_attr: [group, resource.0.value]}}
  deep: {value: {get_attr: [groups, resource.0.given]}}
  made: {value: {map_merge: [{get_param: j}, {}]}}
`;

const inputOf = (value: Json) => ({
  template,
  files: { 'inner.yaml': inner },
  environment: world.context.secrets.seal({ parameter_defaults: { d: value } }),
  parameters: { j: world.context.secrets.seal(value) },
});

describe('a value from outside in an internal shape', () => {
  it.each(Object.entries(shapes))('%s comes back unchanged', async (name, shape) => {
    const value = { deep: [shape], ...(shape as object) } as Json;
    const stack = await world.createAndWait(`s-${Object.keys(shapes).indexOf(name)}`, inputOf(value));
    for (const { key, value: shown, error } of stack.outputs ?? []) {
      expect.soft({ key, shown, error }).toEqual({ key, shown: value, error: undefined });
    }
    const resource = (await world.resources(stack.id)).find((each) => each.name === 'v');
    expect(resource).toMatchObject({ attributes: { value }, metadata: value });
  });

  it('cannot be opened when it is a seal copied from a database', async () => {
    const copied = world.context.secrets.seal('hush');
    const stack = await world.createAndWait('copied', inputOf({ deep: [copied], ...copied }));
    const written = template.replaceAll('{get_param: j}', JSON.stringify({ deep: [copied] }));
    const literal = await world.createAndWait('written', { ...inputOf({}), template: written });
    const resources = [...(await world.resources(stack.id, 2)), ...(await world.resources(literal.id, 2))];
    expect(JSON.stringify([stack, literal, resources])).not.toContain('hush');
    expect(world.outputs(stack)['value']).toEqual({ deep: [copied], ...copied });
    expect(world.outputs(literal)['value']).toEqual({ deep: [copied] });
  });
});

const project = 'p1';
const outside = `
heat_template_version: 2018-08-31
parameters: {j: {type: json}, host: {type: string}}
resources:
  config:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'true', inputs: [{name: given, type: Json}], outputs: [{name: out, type: Json}]}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: config}
      server: {get_param: host}
      signal_transport: ZAQAR_SIGNAL
      input_values: {given: {get_param: j}, more: {get_param: j}}
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 60}}
  read: {type: OS::Heat::Value, properties: {type: json, value: {get_attr: [deployment, out]}}}
outputs:
  out: {value: {get_attr: [deployment, out]}}
  stdout: {value: {get_attr: [deployment, deploy_stdout]}}
  stderr: {value: {get_attr: [deployment, deploy_stderr]}}
  read: {value: {get_attr: [read, value]}}
  signal: {value: {yaql: {expression: '$.data', data: {get_attr: [wait, data]}}}}
`;

/** Claims the request of the deployment, answers with the value, and signals the handle with it, like the gateway. */
async function answerWith(stack: string, host: string, value: Json): Promise<JsonObject> {
  const passed = world.context.secrets.fromOutside(value);
  const claim = { project, queue: `host.${host}.requests`, ttl: 60, grace: 60 };
  const request = await eventually(
    async () => (await world.ask(queueClaim, claim, 'configuration')).messages[0]?.body as JsonObject | undefined,
    { what: 'the request of the deployment' },
  );
  const text = JSON.stringify(passed);
  const outputs = { out: passed, 'fact.reported': passed };
  const facts = { named: passed, $sealed: 'x', ...(passed as JsonObject) };
  const body = { id: request['id'] ?? '', status_code: 0, stdout: text, stderr: text, outputs, facts };
  const hello = { hello: true, facts: { greeted: passed } };
  const posted = {
    project,
    queue: `host.${host}.responses`,
    client_id: 'host',
    messages: [hello, body].map((each) => ({ body: each, ttl: 600 })),
  };
  await world.ask(queuePost, posted, 'configuration');
  await eventually(
    async () =>
      (await world.resources(stack)).some(({ name, status }) => name === 'handle' && status === 'COMPLETE') ||
      undefined,
    { what: 'the handle' },
  );
  await world.signal(stack, 'handle', { data: passed });
  return request;
}

describe('a value from a host, a signal or an export', () => {
  it.each([...Object.entries(shapes), ['a genuine seal', undefined] as const])(
    '%s comes back unchanged',
    async (name, shape) => {
      const { secrets, newId } = world.context;
      const part = shape ?? secrets.seal('hush');
      const sent: Json = { deep: [part], ...(part as object) };
      const host = newId();
      await world.ask(hostCreate, { id: host, name: host, project }, 'configuration');
      const input = { template: outside, parameters: { j: secrets.seal(sent), host: secrets.seal(host) } };
      const { id } = await world.create(`o-${host}`, input);
      const { inputs } = await answerWith(id, host, sent);
      const named = (inputs as JsonObject[]).filter((each) => each['name'] === 'given' || each['name'] === 'more');
      expect(named.map((each) => each['value'])).toEqual([sent, sent].map((each) => expect.toSatisfy(isAs(each))));
      const stack = await world.complete(id);
      const { out, read, signal, stdout, stderr } = world.outputs(stack);
      expect(JSON.parse(secrets.open(stdout as string))).toEqual(secrets.fromOutside(sent));
      // People read the standard error, so it shows no text that the script was given as a secret.
      expect(stderr).toEqual(expect.not.stringContaining('"hush"'));
      const { facts } = await world.ask(hostShow, { host, project }, 'configuration');
      for (const fact of ['named', 'greeted', 'reported']) {
        expect({ fact, value: secrets.open(facts[fact] ?? null) }).toEqual({ fact, value: sent });
      }
      expect(facts['$sealed']).toEqual(expect.anything());
      expect(JSON.stringify(facts)).not.toContain('"hush"');
      // A script that prints a hidden input gives a hidden output, which is sealed until a client reads it.
      expect({
        out: secrets.open(out as Json),
        read: secrets.open(read as Json),
        signal: JSON.parse(signal as string),
      }).toEqual({
        out: sent,
        read: sent,
        signal: { 1: sent },
      });

      const exported = await world.ask(stackExport, { project, stack: id });
      await world.act(id, { kind: 'abandon' });
      await world.complete(id);
      const file = await portable(exported, secrets);
      expect(JSON.stringify(file)).not.toContain('hush');
      const adopt = secrets.fromOutside(file['resources'] as JsonObject);
      const again = await world.create(`a-${host}`, input, { adopt });
      const adopted = world.outputs(await world.complete(again.id));
      // A hidden output does not leave with the export.
      expect({ name, read: adopted['read'] }).toEqual({ name, read: shape === undefined ? null : sent });
    },
  );
});

/** A script reads a value as text or as JSON. */
const isAs =
  (expected: Json) =>
  (value: Json): boolean =>
    JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value) === JSON.stringify(expected);
