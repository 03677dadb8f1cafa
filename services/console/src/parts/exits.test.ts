import { expect, it } from 'vitest';
import { exitActionOf, exitPageOf, isShown } from './exits.ts';

it('runs the commands that need nothing but a press', () => {
  const labels = [
    'anneal stack retry web',
    'anneal stack rollback web',
    'anneal hook clear web database pre-create',
    'anneal dead-letter replay 7',
    'anneal workflow resume run-1',
    'anneal node provide machine-1 --verb manage',
  ].map((command) => exitActionOf(command)?.label);
  expect(labels).toEqual(['Retry', 'Roll back', 'Clear pre-create', 'Replay', 'Resume the workflow', 'Verify again']);
});

it('leads to the page that asks, before a command that takes work back or accepts a failure', () => {
  const commands = ['stack cancel web', 'stack cancel web --no-rollback', 'resource skip web pool/0'];
  expect(commands.map((command) => exitActionOf(`anneal ${command}`))).toEqual(commands.map(() => undefined));
  expect(commands.map((command) => exitPageOf(`anneal ${command}`))).toEqual([
    { label: 'Cancel …', href: '/stacks/web' },
    { label: 'Cancel …', href: '/stacks/web' },
    { label: 'Skip pool/0 …', href: '/stacks/web?tab=resources&sel=pool%2F0' },
  ]);
});

it('never runs a command that destroys, has an unknown option, or is none of anneal', () => {
  const commands = [
    'anneal stack delete web',
    'anneal stack retry web --force',
    'anneal node provide machine-1 --verb deleted',
    'anneal stack cancel web --no-rollback --yes',
    'start the agent on the machine: anneal host token web1',
    'anneal hook complete web database approve continue --token …',
  ];
  expect(commands.map((command) => exitActionOf(command))).toEqual(commands.map(() => undefined));
});

it('names the page that shows what a command prints, with names as parts of an address', () => {
  expect(exitPageOf('anneal resource show web tier/db')).toEqual({
    label: 'Show tier/db',
    href: '/stacks/web?tab=resources&sel=tier%2Fdb',
  });
  expect(exitPageOf('anneal node show rack1-u01')?.href).toBe('/nodes/rack1-u01');
  expect(exitPageOf('anneal stack delete web')?.href).toBe('/stacks/web');
  expect(exitPageOf('anneal deployment logs 1 --follow')).toBeUndefined();
  expect(exitPageOf('anneal host token web1')).toBeUndefined();
});

it('knows the page that a reader looks at, also when its address says more', () => {
  const here = { pathname: '/stacks/web', searchStr: '?tab=resources&sel=tier%2Fdb' };
  expect(isShown('/stacks/web?tab=resources&sel=tier%2Fdb', here)).toBe(true);
  expect(isShown('/stacks/web', here)).toBe(true);
  expect(isShown('/stacks/web?tab=resources&sel=other', here)).toBe(false);
  expect(isShown('/stacks/other', here)).toBe(false);
});
