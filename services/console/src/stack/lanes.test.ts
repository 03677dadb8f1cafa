import { expect, it } from 'vitest';
import { lanesOf, type Ran } from './lanes.ts';

const ran = (path: string, type: string, start: number, ...required_by: string[]): Ran =>
  ({ resource: { path, resource_type: type, required_by }, start, end: start + 1 }) as unknown as Ran;

it('puts what runs on a host into the lane of the host, also in nested stacks, and the rest into lanes of their own', () => {
  const lanes = lanesOf([
    ran('config', 'OS::Heat::SoftwareConfig', 0, 'install', 'start'),
    ran('web', 'OS::Nova::Server', 0, 'install'),
    ran('start', 'OS::Heat::SoftwareDeployment', 7),
    ran('install', 'OS::Heat::SoftwareDeployment', 5, 'start'),
    ran('group/node', 'OS::Nova::Server', 1, 'run'),
    ran('group/run', 'OS::Heat::SoftwareDeployment', 2),
  ]);
  const placed = lanes.map(({ name, bars }) => [name, ...bars.map(({ resource }) => resource.path)]);
  expect(placed.toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1))).toEqual([
    ['config', 'config'],
    ['group/node', 'group/node', 'group/run'],
    ['web', 'web', 'install', 'start'],
  ]);
});
