import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { expect, it } from 'vitest';
import { outlookOf, outlookText } from './cancel-outlook.ts';
import type { Resource } from './representation.ts';

const resource = (name: string, given: { in?: string; type?: string; state?: string; why?: string; nested?: string }) =>
  ({
    resource_name: name,
    resource_type: given.type ?? 'OS::Heat::SoftwareDeployment',
    resource_status: given.state ?? 'CREATE_IN_PROGRESS',
    resource_status_reason: given.why ?? '',
    links: [
      { rel: 'stack', href: `https://anneal/stacks/s/${given.in ?? 'root'}` },
      ...(given.nested === undefined ? [] : [{ rel: 'nested', href: `https://anneal/stacks/n/${given.nested}` }]),
    ],
  }) as unknown as Resource;
const deployment = (name: string, state: string, stack = 'root') =>
  ({
    stack_id: stack,
    resource_name: name,
    host_name: 'web-1',
    status: 'IN_PROGRESS',
    answer_state: state,
  }) as unknown as DeploymentView;

it('tells what has begun from what a cancel takes back, by their paths', () => {
  const resources = [
    resource('done', { state: 'CREATE_COMPLETE' }),
    resource('runs', {}),
    resource('queued', {}),
    resource('pool', { type: 'OS::Heat::ResourceGroup', nested: 'group' }),
    resource('0', { in: 'group', type: 'OS::Nova::Server', why: 'waiting for a node: none of 2 nodes fits' }),
    resource('1', { in: 'group', type: 'OS::Nova::Server', why: 'node machine-1 boots' }),
    resource('queued', { in: 'group' }),
    resource('signal', { type: 'OS::Heat::WaitCondition' }),
  ];
  const deployments = [
    deployment('runs', 'started'),
    deployment('queued', 'not taken'),
    deployment('queued', 'started', 'group'),
  ];
  const outlook = outlookOf(resources, deployments);
  expect(outlook).toEqual({
    withdrawn: ['queued', 'pool/0', 'signal'],
    goesOn: ['runs on web-1', 'pool/1', 'pool/queued on web-1'],
  });
  expect(outlookText(outlook)).toEqual([
    'Taken back, because it has not begun: queued, pool/0, signal.',
    'Has begun, and goes on to its end: runs on web-1, pool/1, pool/queued on web-1.',
  ]);
});

it('names a few of many, and says when nothing has begun', () => {
  const names = Array.from({ length: 8 }, (_, i) => `c${i}`);
  const outlook = outlookOf(
    names.map((name) => resource(name, {})),
    names.map((name) => deployment(name, 'never polled')),
  );
  expect(outlookText(outlook)).toEqual([
    'Taken back, because it has not begun: c0, c1, c2, c3, c4 and 3 more.',
    'Nothing has begun.',
  ]);
  expect(outlookText({ withdrawn: [], goesOn: [] })).toEqual(['Nothing is in progress at a provider.']);
});
