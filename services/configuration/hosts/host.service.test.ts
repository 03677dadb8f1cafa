import { randomUUID } from 'node:crypto';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import { resourceEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

useQuickClock();
let rig: Rig;
afterEach(() => rig.dispose());

describe('a host', () => {
  it('H1: has one token when created twice; the token identifies its owner and is stored unreadable', async () => {
    rig = await createRig();
    const question = { id: randomUUID(), name: 'web', project };
    const first = await rig.ask(hostCalls.hostCreate, question);
    const second = await rig.ask(hostCalls.hostCreate, question);
    expect(second.token).toBe(first.token);
    expect(first.host.status).toBe('expected');
    expect(await rig.ask(hostCalls.hostAuthenticate, { token: first.token })).toEqual({
      host_id: question.id,
      name: 'web',
      project,
      requests_queue: `host.${question.id}.requests`,
      responses_queue: `host.${question.id}.responses`,
    });
    await expect(rig.ask(hostCalls.hostAuthenticate, { token: 'guess' })).rejects.toMatchObject({
      code: 'Unauthorized',
    });
    const renewed = await rig.ask(hostCalls.hostTokenRenew, { project, host: 'web' });
    await expect(rig.ask(hostCalls.hostAuthenticate, { token: first.token })).rejects.toMatchObject({
      code: 'Unauthorized',
    });
    expect((await rig.ask(hostCalls.hostAuthenticate, { token: renewed.token })).host_id).toBe(question.id);
  });

  it('is up at its first request for work, silent without requests, and up again at the next one', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '3' } });
    const { id } = await rig.host('web');
    expect(await rig.claim(id)).toBeUndefined();
    const up = await rig.event('host.up', id);
    const { version } = await rig.ask(hostCalls.hostShow, { host: id });
    expect(version).toBeGreaterThanOrEqual((up.data as { version: number }).version);
    await rig.event('host.silent', id);
    expect((await rig.ask(hostCalls.hostShow, { host: id })).status).toBe('silent');
    await rig.claim(id);
    await expect.poll(() => rig.events.filter((each) => each.type === 'host.up' && each.subject === id).length).toBe(2);
    expect(await rig.ask(hostCalls.hostShow, { host: id })).toMatchObject({
      status: 'up',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Stalled', status: 'False' },
      ],
    });
  });

  it('does not count as silent while its server is suspended, and does again when it is resumed', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '2' } });
    const { bus, mint } = rig.context;
    const [asleep, dead] = [await rig.host('asleep'), await rig.host('dead')];
    const publish = (step: 'suspend.completed' | 'resume.started') =>
      bus.publish([
        mint(resourceEvent[step], {
          project,
          subject: 's',
          data: {
            origin: unknownOrigin(),
            stack_id: 's',
            stack_name: 'stack',
            action: 'SUSPEND',
            status: 'COMPLETE',
            reason: '',
            version: 1,
            resource_id: asleep.id,
            resource_name: 'server',
            resource_type: 'OS::Nova::Server',
            physical_id: null,
          },
        }),
      ]);
    for (const { id } of [asleep, dead]) await rig.claim(id);
    await publish('suspend.completed');
    for (const { id } of [asleep, dead]) await rig.event('host.silent', id);
    const overview = () => rig.ask(hostCalls.hostOverview, { project, most: 10 });
    await eventually(async () => ((await overview()).counts['suspended'] === 1 ? true : undefined), {
      what: 'the suspended host being counted as such',
    });
    const { counts, silent } = await overview();
    expect(counts).toEqual({ silent: 1, suspended: 1 });
    expect(silent.map(({ name }) => name)).toEqual(['dead']);
    const { conditions } = await rig.ask(hostCalls.hostShow, { host: asleep.id });
    expect(conditions[0]).toMatchObject({ status: 'False', reason: 'Suspended' });
    await publish('resume.started');
    await eventually(async () => ((await overview()).counts['silent'] === 2 ? true : undefined), {
      what: 'the host of the resumed server being counted as silent',
    });
    const none = await rig.ask(hostCalls.hostOverview, { project, most: 10, stacks: ['another'] });
    expect(none.silent).toEqual([]);
  });

  it('H3: is not silent while it waits on an open connection, and is up when it is reported again', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '5' } });
    const [waiting, gone] = [await rig.host('waiting'), await rig.host('gone')];
    await rig.claim(waiting.id);
    await rig.claim(gone.id);
    const silent = (): (string | undefined)[] =>
      rig.events.filter(({ type }) => type === 'host.silent').map(({ subject }) => subject);
    const report = (ids: string[]) => rig.ask(hostCalls.hostsPresent, { host_ids: ids, within_ms: 0 });
    await eventually(
      async () => {
        await report([waiting.id]);
        return silent().length > 0 ? true : undefined;
      },
      { what: 'the silence of the host that is gone' },
    );
    expect(silent()).toEqual([gone.id]);
    expect((await rig.ask(hostCalls.hostShow, { host: waiting.id })).status).toBe('up');
    await report([gone.id, randomUUID()]);
    expect((await rig.ask(hostCalls.hostShow, { host: gone.id })).status).toBe('up');
  });

  it('C3: is not silent as long as its messages may wait for the service', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '1' } });
    const { id } = await rig.host('web');
    await rig.claim(id);
    const { bus, mint } = rig.context;
    /** Reports no host, in a message that waited for some seconds. */
    const report = (seconds: number) => {
      const message = mint(hostCalls.hostsPresent, { project, data: { host_ids: [], within_ms: 0 } });
      const time = new Date(Date.now() - seconds * 1000).toISOString();
      const queue = requestsQueue('configuration');
      return bus.request({ queue, call: hostCalls.hostsPresent, message: { ...message, time } });
    };
    const end = Date.now() + 4_000;
    await eventually(
      async () => {
        await report(60);
        return Date.now() > end ? true : undefined;
      },
      { what: 'more than the time of silence' },
    );
    expect((await rig.ask(hostCalls.hostShow, { host: id })).status).toBe('up');
    await report(0);
    await rig.event('host.silent', id);
  });

  it('is up with the facts of its hello, because waiting services need its addresses', async () => {
    rig = await createRig();
    const { id } = await rig.host('web');
    const facts = { address: '192.0.2.7' };
    const messages = [{ body: { hello: true, facts }, ttl: 60 }];
    await rig.ask(queueCalls.queuePost, { project, queue: `host.${id}.responses`, client_id: 'c', messages });
    expect((await rig.event('host.up', id)).data).toMatchObject({ facts });
  });

  it('has the facts that its configs output, with a version and an event for each change', async () => {
    rig = await createRig();
    const { id } = await rig.host('web');
    await rig.post(id, { hello: true, facts: { kernel: '6.1' } });
    const answer = { id: 'unknown', status_code: 0, outputs: { 'fact.rack': 'a\n', result: 'b' } };
    await rig.post(id, answer);
    await rig.post(id, answer, { deploy_status_code: 0, 'fact.rack': 'a' });
    expect(await rig.ask(hostCalls.hostShow, { host: id })).toMatchObject({
      facts: { kernel: '6.1', rack: 'a' },
      facts_version: 2,
    });
    await rig.post(id, { deploy_status_code: 0, 'fact.row': '7', 'fact.rack': '' });
    await expect
      .poll(() => rig.events.filter(({ type }) => type === 'host.facts.changed').map(({ data }) => data))
      .toMatchObject([{ facts: { kernel: '6.1', rack: 'a' } }, { facts: { kernel: '6.1', row: '7' } }]);
  });

  it('is not up because an operator reads its queue', async () => {
    rig = await createRig();
    const { id } = await rig.host('web');
    const queue = `host.${id}.requests`;
    const look = { project, queue, include_claimed: true, echo: true, client_id: '' };
    expect((await rig.ask(queueCalls.queueMessages, look)).messages).toEqual([]);
    expect((await rig.ask(hostCalls.hostShow, { host: id })).status).toBe('expected');
    await rig.ask(queueCalls.queueMessages, { ...look, include_claimed: false });
    await rig.ask(queueCalls.queueMessages, { ...look, include_claimed: false, host_id: 'another' });
    expect((await rig.ask(hostCalls.hostShow, { host: id })).status).toBe('expected');
    await rig.ask(queueCalls.queueMessages, { ...look, include_claimed: false, host_id: id });
    expect((await rig.ask(hostCalls.hostShow, { host: id })).status).toBe('up');
  });

  it('is deleted with its queues; deleting it again succeeds', async () => {
    rig = await createRig();
    const { id, token } = await rig.host('web');
    await rig.ask(hostCalls.hostDelete, { id });
    await rig.event('host.deleted', id);
    await rig.ask(hostCalls.hostDelete, { id });
    await expect(rig.ask(hostCalls.hostAuthenticate, { token })).rejects.toMatchObject({ code: 'Gone' });
    expect((await rig.ask(queueCalls.queueList, { project })).queues).toEqual([]);
    expect((await rig.ask(hostCalls.hostList, { project })).hosts).toEqual([]);
  });
});
