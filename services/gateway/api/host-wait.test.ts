import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { expect, it } from 'vitest';
import { withHost, withoutPower, withSilent, withSimilar } from './host-wait.ts';

const why = { summary: 'slow is in progress.', chain: [], exits: ['anneal stack cancel web --no-rollback'] };
const started = {
  id: 'd1',
  resource_name: 'slow',
  answer_state: 'started',
  queued_at: '2026-01-01T00:00:00Z',
  started_at: '2026-01-01T00:00:01Z',
  accepted_at: null,
  deadline: '2026-01-01T01:00:00Z',
} as unknown as DeploymentView;
const host = (status: string) =>
  ({ name: 'web1', status, last_seen_at: '2026-01-01T00:05:00Z', pending: 1, requests_queue: 'q' }) as HostView;

it('withHost says that a host has fallen silent while it runs a config, because its machine may be dead', () => {
  const found = withHost(why, started, { host: host('silent') });
  expect(found.summary).toBe(
    'Host web1 took slow at 2026-01-01T00:00:01Z and has been silent since 2026-01-01T00:05:00Z; slow fails unless it ends by 2026-01-01T01:00:00Z.',
  );
  expect(found.exits).toEqual([
    'check the machine and its agent',
    'anneal host show web1',
    'anneal node list',
    'anneal stack cancel web --no-rollback',
  ]);
});

it('withHost offers the output of a config that a host runs', () => {
  const found = withHost(why, started, { host: host('up') });
  expect(found.summary).toContain('Host web1 has run slow since 2026-01-01T00:00:01Z; slow fails unless');
  expect(found.exits[0]).toBe('anneal deployment logs d1 --follow');
});

it('withHost names the config that the host runs, when another one waits behind it', () => {
  const next = {
    ...started,
    id: 'd2',
    resource_name: 'next',
    answer_state: 'not taken',
    started_at: null,
  } as DeploymentView;
  const found = withHost(why, next, { host: host('up'), running: started });
  expect(found.summary).toBe('next waits for its turn on host web1, which has run slow since 2026-01-01T00:00:01Z.');
  expect(found.exits[0]).toBe('anneal deployment logs d1 --follow');
  expect(withHost(why, next, { host: host('silent'), running: started }).summary).toContain(
    'took slow at 2026-01-01T00:00:01Z and has been silent',
  );
  expect(withHost(why, next, { host: host('silent') }).summary).toContain(
    'web1, which has been silent since 2026-01-01T00:05:00Z',
  );
});

it('withoutPower says that the machine of a host that was up a moment ago is off', () => {
  const found = withoutPower(withHost(why, started, { host: host('up') }), 'machine-1');
  expect(found.summary).toMatch(/^Host web1 has run slow since .*; its node machine-1 is powered off\.$/);
  expect(found.exits[0]).toBe('anneal node power machine-1 on');
});

it('withSilent names the silent hosts of an idle stack and of those nested in it, and none of another one', () => {
  const chain = [{ object: 'stack web', state: 'CREATE_COMPLETE', reason: '', since: null }];
  const idle = { summary: 'Stack web is idle: Stack CREATE completed successfully.', chain, exits: [] };
  const silent = (stack_id: string) => ({ ...host('silent'), server: { stack_id } }) as HostView;
  const within = (...hosts: HostView[]) => withSilent(idle, { idle: ['web', 'group in web'], silent: hosts });
  expect(within(silent('other'))).toBe(idle);
  expect(within(silent('other'), silent('group in web'), silent('web'))).toMatchObject({
    summary: `${idle.summary} But host web1 has been silent since 2026-01-01T00:05:00Z. (1 more of its hosts is silent too.)`,
    chain: [...chain, { object: 'host web1', state: 'silent' }],
  });
});

it('withSilent names the host of one server, when the question is about that server', () => {
  const idle = { summary: 'db is idle: it is CREATE_COMPLETE.', chain: [], exits: [] };
  const silent = (resource_name: string) =>
    ({ ...host('silent'), name: `host of ${resource_name}`, server: { stack_id: 'web', resource_name } }) as HostView;
  const both = [silent('cache'), silent('db')];
  expect(withSilent(idle, { idle: ['web'], resource: 'db', silent: both })).toMatchObject({
    summary: 'db is idle: it is CREATE_COMPLETE. But host host of db has been silent since 2026-01-01T00:05:00Z.',
    exits: expect.arrayContaining(['anneal host show host of db']) as string[],
  });
  expect(withSilent(idle, { idle: ['web'], resource: 'web', silent: both })).toBe(idle);
});

it('withSimilar asks whether the template means a host that joined under a similar name', () => {
  const waits = { ...started, resource_name: 'c', answer_state: 'never polled' } as DeploymentView;
  const found = withHost(why, waits, { host: { ...host('expected'), last_seen_at: null } });
  expect(withSimilar(found, ['web1.example.org'])).toMatchObject({
    summary:
      'c waits for host web1, which has never asked for work; 1 request waits in q. A host web1.example.org joined; do you mean that?',
    exits: ['give the server in the template the name of the joined host: web1.example.org', ...found.exits],
  });
  expect(withSimilar(found, ['a', 'b', 'c', 'd']).summary).toContain('Hosts a, b, c joined; do you mean one of them?');
  expect(withSimilar(found, [])).toBe(found);
});

it('withHost says that a host reboots for the config, also to one that waits behind it', () => {
  const reboot = {
    deployment_id: 'd1',
    deployment: 'kernel',
    number: 1,
    most: 3,
    since: '2026-01-01T00:05:00Z',
    until: '2026-01-01T00:35:00Z',
  };
  const rebooting = { ...host('up'), reboot };
  const found = withHost(why, started, { host: rebooting });
  expect(found.summary).toContain(
    'Host web1 reboots for config kernel (1 of 3) since 2026-01-01T00:05:00Z; slow fails',
  );
  expect(found.chain[0]).toMatchObject({ state: 'rebooting' });
  const next = { ...started, id: 'd2', resource_name: 'next', answer_state: 'not taken' } as DeploymentView;
  expect(withHost(why, next, { host: rebooting, running: started }).summary).toContain(
    'next waits for its turn on host web1, which reboots for config kernel (1 of 3) since',
  );
});
