import { describe, expect, it } from 'vitest';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { literal, openHarness, planWith, project, resource } from '../testing/running-service.ts';
import { coerceValue } from '../at-once/coerce.ts';
import { drawsOf } from '../at-once/draw.ts';
import { randomString } from '../at-once/random-string.ts';

describe('OS::Heat::RandomString', () => {
  it('contains the minimum number of each class and fills the rest from all classes', () => {
    for (let count = 0; count < 50; count += 1) {
      const made = randomString(
        {
          length: 12,
          character_classes: [
            { class: 'digits', min: 3 },
            { class: 'octdigits', min: 1 },
          ],
          character_sequences: [{ sequence: '#!', min: 2 }],
        },
        drawsOf(new Uint8Array(32), String(count)),
      );
      if (!made.ok) throw new Error(made.message);
      expect(made.value).toMatch(/^[\d#!]{12}$/);
      expect(made.value.replace(/[^#!]/g, '').length).toBeGreaterThanOrEqual(2);
      expect(made.value.replace(/\D/g, '').length).toBeGreaterThanOrEqual(4);
    }
  });

  it('refuses minimums that exceed the length', () => {
    const classes = [{ class: 'digits', min: 5 }];
    expect(randomString({ length: 4, character_classes: classes }, drawsOf(new Uint8Array(32), ''))).toMatchObject({
      ok: false,
    });
  });
});

describe('OS::Heat::Value', () => {
  it.each([
    [true, 'string', 'True'],
    [3, 'string', '3'],
    ['4.5', 'number', 4.5],
    ['TRUE', 'boolean', true],
    [{ a: 1 }, 'json', { a: 1 }],
    [['a'], 'comma_delimited_list', ['a']],
    [null, 'number', null],
  ])('reads %j as %s', (value, type, expected) => {
    expect(coerceValue(value, type)).toEqual({ ok: true, value: expected });
  });

  it.each([
    [1.5, 'string'],
    ['x', 'number'],
    ['yes', 'boolean'],
    [[1], 'json'],
    ['a,b', 'comma_delimited_list'],
  ])('refuses %j as %s', (value, type) => {
    expect(coerceValue(value, type)).toMatchObject({ ok: false });
  });
});

describe('a wait', () => {
  it('continues in the next process, and ends at its original time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-wait-'));
    const first = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    const plan = planWith([
      resource('d', { min_wait: literal(1) }, { type: 'OS::Heat::Delay' }),
      resource('t', { wait_secs: literal(0.2) }, { type: 'OS::Heat::TestResource', requires: ['d'] }),
    ]);
    const { id } = await first.create('s', plan);
    await first.dispose();
    const second = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    try {
      expect(await second.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
      const { resources } = await second.ask(stackResources, { project, stack: id, detail: true, name: 'd' });
      const [delay] = resources;
      const took = Date.parse(delay?.finished_at ?? '') - Date.parse(delay?.started_at ?? '');
      expect(took).toBeGreaterThanOrEqual(1000);
    } finally {
      await second.dispose();
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('shows the physical id during a create and of a replacement', async () => {
    const harness = await openHarness();
    const plan = (value: string, wait: number) =>
      planWith([
        resource(
          't',
          { value: literal(value), update_replace: literal(true), action_wait_secs: literal({ create: wait }) },
          { type: 'OS::Heat::TestResource' },
        ),
      ]);
    const shown = async (stack: string): Promise<(string | null)[]> => {
      const { resources } = await harness.ask(stackResources, { project, stack, detail: true, name: 't' });
      return resources.map(({ action, status, physical_id }) => `${action} ${status} ${physical_id}`);
    };
    try {
      const { id } = await harness.create('s', plan('a', 0));
      await harness.settled(id);
      const [before] = await shown(id);
      expect(before).toMatch(/CREATE COMPLETE s-t-/);
      await harness.update(id, plan('b', -1));
      let last: unknown;
      await eventually(
        async () => {
          last = await shown(id);
          return /CREATE IN_PROGRESS s-t-/.test(String(last)) || undefined;
        },
        { what: 'the physical id of a replacement that is being made', last: () => last },
      );
    } finally {
      await harness.dispose();
    }
  });

  it('of longer than any date counts as one without an end', async () => {
    const harness = await openHarness();
    try {
      const plan = planWith([
        resource('t', { wait_secs: literal(1e20) }, { type: 'OS::Heat::TestResource' }),
        resource('d', { min_wait: literal(3_162_240_000) }, { type: 'OS::Heat::Delay' }),
      ]);
      const { id } = await harness.create('s', plan);
      await eventually(
        async () => {
          const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
          return resources.every((each) => each.physical_id !== null) ? resources : undefined;
        },
        { what: 'both resources wait' },
      );
      await harness.remove(id);
      expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    } finally {
      await harness.dispose();
    }
  });

  it('of a deletion holds it up', async () => {
    const harness = await openHarness();
    try {
      const waits = literal({ delete: 0.2, update: 0 });
      const properties = { action_wait_secs: waits };
      const { id } = await harness.create(
        's',
        planWith([resource('t', properties, { type: 'OS::Heat::TestResource' })]),
      );
      await harness.settled(id);
      const started = performance.now();
      await harness.remove(id);
      await harness.settled(id);
      expect(performance.now() - started).toBeGreaterThan(190);
    } finally {
      await harness.dispose();
    }
  });

  it('without an end is ended by the deletion of the stack', async () => {
    const harness = await openHarness();
    try {
      const waits = literal({ create: -1 });
      const { id } = await harness.create(
        's',
        planWith([resource('t', { action_wait_secs: waits }, { type: 'OS::Heat::TestResource' })]),
      );
      await harness.remove(id);
      expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    } finally {
      await harness.dispose();
    }
  });
});
