import { expect, it } from 'vitest';
import { lanesOf, timelineActions, type Ran } from './lanes.ts';

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

it('shows the actions apart, without the time in which nothing ran', () => {
  const later = (path: string, start: number, end: number): Ran => ({ ...ran(path, 'OS::Heat::Value', start), end });
  const actions = timelineActions([
    later('scaled', 980_000, 980_300),
    later('first', 0, 5_000),
    later('second', 5_100, 6_000),
    later('open', 980_100, 990_000),
  ]);
  expect(actions.map(({ from, to, ran: all }) => [from, to, ...all.map(({ resource }) => resource.path)])).toEqual([
    [0, 6_000, 'first', 'second'],
    [980_000, 990_000, 'scaled', 'open'],
  ]);
  expect(timelineActions([])).toEqual([]);
});
