import { describe, expect, it } from 'vitest';
import { hostnameOf, nameProblem } from './hostname.ts';

const physicalName = 'Stack-serv1-abc';
const nova = (name: string, physical = physicalName) =>
  hostnameOf({ type: 'OS::Nova::Server', name, physicalName: physical });
const deployed = (name: string) => hostnameOf({ type: 'OS::Heat::DeployedServer', name, physicalName });

describe('the host of a Nova server', () => {
  it.each([
    ['Front End', 'front-end'],
    ['web1.example.org', 'web1-example-org'],
    ['café_1', 'cafe-1'],
    ['a@b', 'ab'],
    ['--a--', 'a'],
    ['', 'stack-serv1-abc'],
    ['漢字', 'stack-serv1-abc'],
    [`x${'-'.repeat(70)}end`, 'x'],
    [`${'a'.repeat(70)}-1`, 'a'.repeat(63)],
  ])('of the name %j has the label %j, as in Nova', (name, label) => {
    expect(nova(name)).toBe(label);
  });

  it('without a name keeps the end of a long physical name, where physical names differ', () => {
    expect(nova('', `${'a'.repeat(70)}-xyz`)).toBe(`${'a'.repeat(59)}-xyz`);
    expect(nova('', '漢字')).toBe('host');
  });
});

describe('the host of a deployed server', () => {
  it.each(['web1.example.org', 'Web1', 'web_1', `${'a'.repeat(63)}.${'b'.repeat(63)}`])('keeps the name %s', (name) => {
    expect(deployed(name)).toBe(name);
  });

  it('has a label of the physical name without a valid name', () => {
    expect(['', 'a b'].map(deployed)).toEqual(['stack-serv1-abc', 'stack-serv1-abc']);
  });
});

it('refuses a name by the rule of its type', () => {
  const problems = (name: string) =>
    ['OS::Nova::Server', 'OS::Heat::DeployedServer'].map((type) => nameProblem({ type, name }) !== undefined);
  expect(problems('')).toEqual([false, false]);
  expect(problems('Front End')).toEqual([false, true]);
  expect(problems('a'.repeat(300))).toEqual([true, true]);
});
