import { stackWhy } from '@anneal/contracts/scheduling.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { literal, openHarness, planWith, project, resource, type Harness } from './testing.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

const why = (stack: string, name?: string) =>
  harness.ask(stackWhy, { project, stack, ...(name !== undefined && { resource: name }) });

it('a stack that waits leads to the resource, and to the queue of its provider', async () => {
  const waits = resource('w', { wait_secs: literal(-1) }, { type: 'OS::Heat::TestResource' });
  const { id } = await harness.create('s', planWith([waits]));
  const answer = await eventually(async () => {
    const found = await why(id);
    return found.chain.length >= 3 ? found : undefined;
  });
  expect(answer.summary).toMatch(/^w is being worked on since /);
  expect(answer.chain.map(({ object }) => object)).toEqual([
    'stack s',
    'resource w (OS::Heat::TestResource)',
    'queue anneal.scheduling.requests',
  ]);
});

it('a type that nobody serves is named', async () => {
  const { id } = await harness.create('s', planWith([resource('x', {}, { type: 'Nobody::Serves' })]));
  const answer = await eventually(async () => {
    const found = await why(id);
    return found.summary.includes('No provider') ? found : undefined;
  });
  expect(answer.summary).toContain('No provider has announced Nobody::Serves');
  expect(answer.exits).not.toHaveLength(0);
});

it('a failed stack says its first cause and what can be done', async () => {
  const fails = resource('f', { fail: literal(true) }, { type: 'OS::Heat::TestResource' });
  const { id } = await harness.create('s', planWith([fails]));
  await harness.settled(id);
  const answer = await why(id);
  expect(answer.summary).toContain('Test Resource failed f');
  expect(answer.exits).toContain('anneal stack retry s');
  expect(await why(id, 'f')).toMatchObject({ summary: expect.stringContaining('f has failed') });
  await expect(why(id, 'nope')).rejects.toMatchObject({ code: 'NotFound' });
});
