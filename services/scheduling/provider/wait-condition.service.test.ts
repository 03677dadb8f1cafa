import { stackAct, stackEvents } from '@anneal/contracts/calls/stacks.ts';
import { stackResources, stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { readSignalToken, grantOfUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from '../testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

const plan = (condition: Record<string, Expression>, handle: Record<string, Expression> = {}) =>
  planWith([
    resource('h', handle, { type: 'OS::Heat::WaitConditionHandle' }),
    resource(
      'w',
      { handle: callOf('get_resource', 'h'), timeout: literal(600), ...condition },
      { type: 'OS::Heat::WaitCondition', requires: ['h'] },
    ),
  ]);
const show = async (stack: string, name: string) => {
  const { resources } = await harness.ask(stackResources, { project, stack, name, detail: true });
  return resources[0];
};
const signal = (stack: string, body: Json, name = 'h') =>
  harness.ask(stackSignal, { project, stack, resource: name, signal: body });
const waiting = (stack: string) =>
  eventually(async () => ((await show(stack, 'w'))?.status === 'IN_PROGRESS' ? true : undefined));

describe('a wait condition', () => {
  it('waits until its handle received enough signals, and returns their data', async () => {
    const { id } = await harness.create('s', plan({ count: literal(2) }));
    await waiting(id);
    await signal(id, { id: 'a', data: 'one' });
    await signal(id, { id: 'a', data: 'two' });
    expect((await show(id, 'w'))?.status).toBe('IN_PROGRESS');
    await signal(id, { id: 'b' });
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
    expect((await show(id, 'w'))?.attributes).toEqual({ data: '{"a": "two", "b": null}' });
  });

  it('completes at once when the signals arrived before it', async () => {
    const handleOnly = planWith([resource('h', {}, { type: 'OS::Heat::WaitConditionHandle' })]);
    const { id } = await harness.create('s', handleOnly);
    await harness.settled(id);
    await signal(id, null);
    await eventually(async () => {
      const { events } = await harness.ask(stackEvents, {
        project,
        stack: id,
        descending: true,
      });
      return events.find(({ action }) => action === 'SIGNAL');
    });
    await harness.update(id, plan({}));
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
  });

  it('fails with the reason of a FAILURE signal', async () => {
    const { id } = await harness.create('s', plan({}));
    await waiting(id);
    await signal(id, { status: 'FAILURE', reason: 'no disk' });
    expect(await harness.settled(id)).toMatchObject({
      status: 'FAILED',
      reason: 'Resource CREATE failed: WaitConditionFailure: resources.w: no disk',
    });
  });

  it('fails when its timeout is over', async () => {
    const { id } = await harness.create('s', plan({ timeout: literal(1) }));
    expect(await harness.settled(id)).toMatchObject({
      reason: 'Resource CREATE failed: WaitConditionTimeout: resources.w: 0 of 1 received',
    });
  });

  it('completes without a signal when its handle expects none', async () => {
    const { id } = await harness.create('s', plan({}, { signal_transport: literal('NO_SIGNAL') }));
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
  });

  it('ignores a malformed signal, which is refused at once', async () => {
    const { id } = await harness.create('s', plan({}));
    await waiting(id);
    await expect(signal(id, { nonsense: 1 })).rejects.toThrow('Metadata format invalid: nonsense is not a field');
    await expect(signal(id, { status: 'MAYBE' })).rejects.toThrow('status is SUCCESS or FAILURE');
    await signal(id, {});
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
  });
});

describe('a handle', () => {
  it('of a replacement ignores signals to the original', async () => {
    const handles = (value: string) =>
      planWith([
        resource('h', { signal_transport: literal(value) }, { type: 'OS::Heat::WaitConditionHandle' }),
        resource('v', { value: literal(value) }),
      ]);
    const { id } = await harness.create('s', handles('TOKEN_SIGNAL'));
    await harness.settled(id);
    const before = (await show(id, 'h'))?.id ?? '';
    await harness.update(id, handles('HEAT_SIGNAL'));
    await harness.settled(id);
    const now = (await show(id, 'h'))?.id ?? '';
    const signalTo = (incarnation: string) =>
      harness.ask(stackSignal, { project, stack: id, resource: 'h', resource_id: incarnation, signal: null });
    await expect(signalTo(before)).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('was replaced'),
    });
    await signalTo(now);
    await harness.ask(stackAct, { project, stack: id, action: { kind: 'suspend' } });
    await harness.settled(id);
    await expect(signalTo(now)).rejects.toThrow('Signal resource during SUSPEND is not supported.');
    await harness.remove(id);
    await harness.settled(id);
    await expect(signalTo(now)).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('issues a token for itself, sealed at rest', async () => {
    const { id } = await harness.create(
      's',
      planWith([resource('h', {}, { type: 'OS::Heat::WaitConditionHandle' })], {
        outputs: {
          curl: { name: 'curl', value: callOf('get_attr', 'h', 'curl_cli') },
          t: { name: 't', value: callOf('get_attr', 'h', 'token') },
        },
      }),
    );
    const { outputs } = await harness.settled(id);
    const token = outputs?.find(({ key }) => key === 't')?.value as string;
    const handle = await show(id, 'h');
    expect(readSignalToken(harness.context.secrets, token)).toMatchObject({ stack_id: id, resource_id: handle?.id });
    expect(outputs?.find(({ key }) => key === 'curl')?.value).toContain(`/stacks/s/${id}/resources/h/signal`);
    expect(JSON.stringify(handle?.attributes)).not.toContain(token);
  });

  it('of CloudFormation is an address', async () => {
    const { id } = await harness.create(
      's',
      planWith([resource('h', {}, { type: 'AWS::CloudFormation::WaitConditionHandle' })], {
        outputs: { url: { name: 'url', value: callOf('get_resource', 'h') } },
      }),
    );
    const { outputs } = await harness.settled(id);
    expect(grantOfUrl(harness.context.secrets, outputs?.[0]?.value as string)).toMatchObject({ resource_name: 'h' });
  });
});
