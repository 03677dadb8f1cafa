/** Seals from foreign providers stay closed, and outputs that show a secret leave the service sealed. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced, resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

/** A provider in another program. It answers every request with the same report. */
async function serve(report: JsonObject): Promise<void> {
  const { bus, mint } = harness.context;
  const queue = 'other.provider';
  await bus.consume(queue, async ({ message }) => {
    const { data, replyto, type } = message as Envelope<ResourceRequest>;
    const response = {
      resource_id: data.resource.id,
      stack_id: data.stack.id,
      action: type.replace('resource.', '') as 'create',
      fence: data.fence,
      status: 'complete' as const,
      ...report,
    };
    await bus.send({ queue: replyto ?? '', messages: [mint(resourceResponse, { cause: message, data: response })] });
  });
  const types = [
    { type: 'Other::Thing', properties: {}, attributes: {}, open_properties: true, open_attributes: true },
  ];
  const announced = mint(providerAnnounced, { data: { provider: 'other', queue, types } });
  await bus.send({ queue: requestsQueue('scheduling'), messages: [announced] });
}

const shown = (id: string): Promise<StackView> => harness.ask(stackShow, { project, stack: id, outputs: true });
const get = (...path: string[]) => ({ name: 'out', value: callOf('get_attr', ...path) });

it('an error that quotes a hidden parameter is stored and shown without it', async () => {
  const { secrets } = harness.context;
  const error = { code: 'BmcRefused', message: 'no login with hunter2', details: { tried: ['hunter2', 1] } };
  await serve({ status: 'failed', error });
  const plan = {
    ...planWith([resource('t', { key: callOf('get_param', 'p') }, { type: 'Other::Thing' })]),
    parameters: { p: { name: 'p', type: 'string' as const, value: secrets.seal('hunter2'), hidden: true } },
  };
  const { id } = await harness.create('s', plan);
  const stack = await harness.settled(id);
  expect(stack).toMatchObject({ status: 'FAILED', reason: expect.stringContaining('no login with ******') as string });
  const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
  expect(JSON.stringify([await shown(id), resources])).not.toMatch(/hunter2/);
});

describe('an evaluation that fails on a hidden value stores and shows a reason without it, however short it is:', () => {
  const hidden = callOf('get_param', 'p');
  const attribute = callOf('get_attr', 'kept', 'value');
  const call = (name: string, ...items: Expression[]): Expression => ({
    kind: 'call',
    function: name,
    arguments: { kind: 'list', items },
  });
  const computed = call('get_param', callOf('get_param', 'which'));
  const kept = resource('kept', { value: hidden });
  const test = { type: 'OS::Heat::TestResource', requires: ['kept'] };
  const planFrom = (made: PlanResource, output: Expression): Plan => ({
    ...planWith([kept, made], { outputs: { out: { name: 'out', value: output } } }),
    parameters: {
      p: { type: 'string', value: harness.context.secrets.seal('Zq'), hidden: true },
      which: { type: 'string', value: 'p', hidden: false },
    },
  });

  it.each<[string, PlanResource]>([
    ['an OS::Heat::Value', resource('r', { value: hidden, type: literal('number') })],
    ['a property that reads a parameter', resource('r', { wait_secs: hidden }, test)],
    ['a property that reads an attribute', resource('r', { wait_secs: attribute }, test)],
    ['a function', resource('r', { value: call('str_split', literal(','), literal('a'), hidden) })],
    ['a property that a computed name reads', resource('r', { wait_secs: computed }, test)],
  ])('%s', async (_what, made) => {
    const { id } = await harness.create(
      'short',
      planFrom(made, call('str_split', literal(','), literal('a'), attribute)),
    );
    const view = await harness.settled(id);
    expect(view).toMatchObject({ status: 'FAILED', reason: expect.stringMatching(/hidden|\*{6}$/) as string });
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
    const stack = await shown(id);
    expect(stack.outputs?.[0]?.error).toMatch(/Incorrect index to "str_split": \*{6}$/);
    expect(JSON.stringify([stack, resources])).not.toContain('Zq');
  });

  it('and a value that a computed name reads is sealed', async () => {
    const { id } = await harness.create('computed', planFrom(resource('r', { value: computed }), computed));
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
    const stack = await shown(id);
    expect(harness.context.secrets.open(stack.outputs?.[0]?.value ?? null)).toBe('Zq');
    expect(JSON.stringify([stack, resources])).not.toContain('Zq');
  });
});

describe('a seal in the answer of a provider that is not ours', () => {
  it('is an ordinary value, also for what reads the attribute', async () => {
    const { secrets } = harness.context;
    const copied = secrets.seal('hush');
    await serve({ attributes: { a: copied, deep: [{ b: copied }] } });
    const plan = planWith(
      [
        resource('t', {}, { type: 'Other::Thing' }),
        resource('v', { value: callOf('get_attr', 't', 'a') }, { requires: ['t'] }),
      ],
      { outputs: { out: get('v', 'value'), deep: { ...get('t', 'deep'), name: 'deep' } } },
    );
    const { id } = await harness.create('s', plan);
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
    const { outputs = [] } = await shown(id);
    expect(outputs.map(({ value }) => secrets.open(value))).toEqual([copied, [{ b: copied }]]);
  });

  it('stays a secret when the resource received it as an input', async () => {
    const { secrets } = harness.context;
    await serve({ attributes: { a: [secrets.seal('given'), secrets.seal('hush')] } });
    const plan = planWith([resource('t', { p: callOf('get_param', 'p') }, { type: 'Other::Thing' })], {
      parameters: { p: { type: 'string', hidden: true, value: secrets.seal('given') } },
      outputs: { out: get('t', 'a') },
    });
    const { id } = await harness.create('s', plan);
    expect((await harness.settled(id)).outputs).toMatchObject([{ value: ['given', secrets.seal('hush')] }]);
  });

  it('is not opened in an error', async () => {
    const { secrets } = harness.context;
    const error = { code: 'ResourceFailed', message: 'no', details: { why: secrets.seal('hush') } };
    await serve({ status: 'failed', error });
    const { id } = await harness.create('s', planWith([resource('t', {}, { type: 'Other::Thing' })]));
    const { failures } = await harness.settled(id);
    expect(secrets.open((failures[0]?.failure.details ?? null) as JsonObject | null)).toEqual(error.details);
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
    expect(JSON.stringify(resources)).not.toContain('hush');
  });
});

describe('an output', () => {
  it('leaves the service sealed if it could show a secret, and readable otherwise', async () => {
    const { secrets } = harness.context;
    const plan = planWith([resource('v', { value: callOf('get_param', 'p') })], {
      parameters: {
        p: { type: 'string', hidden: true, value: secrets.seal('hush') },
      },
      outputs: {
        plain: { name: 'plain', value: literal('open') },
        param: { name: 'param', value: callOf('get_param', 'p') },
        attribute: { ...get('v', 'value'), name: 'attribute' },
      },
    });
    const { id } = await harness.create('s', plan);
    await harness.settled(id);
    const { outputs = [] } = await shown(id);
    expect(JSON.stringify(outputs)).not.toContain('hush');
    expect(outputs.map(({ value }) => secrets.open(value))).toEqual(['open', 'hush', 'hush']);
    expect(outputs[0]?.value).toBe('open');
  });
});
