import { hostShow } from '@anneal/contracts/calls/hosts.ts';
import { queueClaim } from '@anneal/contracts/calls/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { expect, it } from 'vitest';
import { openConfigurationCollections, type HostDocument } from '../collections.ts';
import { createRig, project } from '../testing/running-service.ts';
import { Contacts } from './contacts.ts';

it('contacts of many hosts are written together, and a later write of another replica stays', async () => {
  const rig = await createRig();
  const { hosts } = await openConfigurationCollections(rig.context.store);
  const ids = await Promise.all(Array.from({ length: 20 }, async (_, index) => (await rig.host(`h${index}`)).id));
  const documents = await hosts.getMany(ids);
  let bulks = 0;
  const errors: unknown[] = [];
  const bulk = hosts.bulk.bind(hosts);
  hosts.bulk = (operations) => {
    bulks += 1;
    return bulk(operations);
  };
  const contacts = new Contacts({
    hosts,
    onError: (error) => errors.push(error),
    writeAfterMs: 60_000,
    refreshAfterMs: 0,
  });
  const at = '2030-01-01T00:00:10.000Z';
  for (const document of documents) contacts.note(document, at);
  const [first, second] = documents as [HostDocument, HostDocument];
  // Other writers: one saw the host later, one changed something else.
  await hosts.replace({ ...first, last_seen_at: '2030-01-01T00:00:20.000Z' }, first.version);
  await hosts.replace({ ...second, facts: { rack: 'r1' } }, second.version);
  expect(contacts.lastOf(second)).toBe(at);
  await contacts.stop();
  expect({ bulks, errors }).toEqual({ bulks: 1, errors: [] });
  const written = await hosts.getMany(ids);
  expect(written.map(({ last_seen_at }) => last_seen_at)).toEqual([
    '2030-01-01T00:00:20.000Z',
    ...ids.slice(1).map(() => at),
  ]);
  expect(written[1]?.facts).toEqual({ rack: 'r1' });
  await rig.dispose();
});

it('C1: a report that a host waits is written only when its written contact is too old', async () => {
  const rig = await createRig();
  const { hosts } = await openConfigurationCollections(rig.context.store);
  const { id } = await rig.host('web');
  const host = (await hosts.get(id)) as HostDocument;
  let written = 0;
  const bulk = hosts.bulk.bind(hosts);
  hosts.bulk = (operations) => {
    written += operations.length;
    return bulk(operations);
  };
  const onError = (error: unknown): never => {
    throw error;
  };
  const contacts = new Contacts({ hosts, onError, writeAfterMs: 1, refreshAfterMs: 40_000 });
  const at = (second: number): string => `2030-01-01T00:00:${second.toString().padStart(2, '0')}.000Z`;
  const stored = (second: number): Promise<true> =>
    eventually(async () => ((await hosts.get(id))?.last_seen_at === at(second) ? true : undefined), {
      what: `the contact of second ${second}`,
    });
  expect(contacts.notePresent([id], at(0))).toEqual([id]);
  contacts.note(host, at(1));
  await stored(1);
  for (const second of [10, 20, 30, 40]) expect(contacts.notePresent([id], at(second))).toEqual([]);
  expect(contacts.lastOf(host)).toBe(at(40));
  expect(contacts.notePresent([id], at(41))).toEqual([]);
  await stored(41);
  expect(written).toBe(2);
  contacts.forget(id);
  expect(contacts.notePresent([id], at(50))).toEqual([id]);
  await contacts.stop();
  await rig.dispose();
});

it('the last contact of a host is shown before it is written, and survives a stop', async () => {
  const rig = await createRig();
  const { id } = await rig.host('web');
  await rig.claim(id);
  const before = await rig.ask(hostShow, { project, host: id });
  // Contacts within five seconds count as one.
  await eventually(
    async () => {
      await rig.ask(queueClaim, { project, queue: `host.${id}.requests`, ttl: 60, grace: 60 });
      const now = await rig.ask(hostShow, { project, host: id });
      return (now.last_seen_at ?? '') > (before.last_seen_at ?? '') ? true : undefined;
    },
    { what: 'a later contact' },
  );
  const shown = await rig.ask(hostShow, { project, host: id });
  await rig.stop();
  const { hosts } = await openConfigurationCollections(rig.context.store);
  expect((await hosts.get(id))?.last_seen_at).toBe(shown.last_seen_at);
  await rig.dispose();
});
