/** Fills the store of a stopped server with many copies of its stacks, hosts, queues and nodes. */
import { join } from 'node:path';
import type { Document, Store } from '@anneal/store/port.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';

type Fields = Document & Record<string, unknown>;

/** How many of each kind are added. */
export interface Amounts {
  readonly stacks: number;
  readonly hosts: number;
  readonly nodes: number;
  readonly users: number;
  readonly projects: number;
}

const numbered = (noun: string, at: number): string => `${noun}-${String(at).padStart(5, '0')}`;
/** One in thirty needs a person. */
const isBad = (at: number): boolean => at % 30 === 7;
const long = '2026-01-01T00:00:00.000Z';

/** Adds copies of the first document of a collection. Its indexes are those of the service, which made the collection. */
async function copy(
  store: Store,
  { name, count, change }: { name: string; count: number; change: (first: Fields, at: number) => object },
): Promise<void> {
  const collection = await store.collection<Fields>({ name, indexes: [] });
  const [first] = await collection.find({ where: {}, limit: 1 });
  if (!first) throw new Error(`The collection ${name} has no document to copy.`);
  const documents = Array.from({ length: count }, (_, at) => ({ ...first, id: v7(), ...change(first, at) }));
  const outcomes = await collection.bulk(documents.map((document) => ({ kind: 'insert', document })));
  const refused = outcomes.filter((outcome) => outcome !== 'done').length;
  if (refused > 0) throw new Error(`${refused} of ${count} documents were not added to ${name}.`);
}

/** The server must be down, and must have one stack, one joined host and one node. */
export async function fill(data: string, { stacks, hosts, nodes, users, projects }: Amounts): Promise<void> {
  const store = await openStore({ url: `sqlite:${join(data, 'store.db')}` });
  await copy(store, {
    name: 'scheduling_stacks',
    count: stacks,
    change: (first, at) => {
      const id = v7();
      const name = numbered('many', at);
      const live = String(first['live_name']).replace(String(first['name']), name);
      return { id, name, root: id, live_name: live, ...(isBad(at) && { status: 'FAILED' }) };
    },
  });
  const ids = Array.from({ length: hosts }, () => v7());
  await copy(store, {
    name: 'configuration_hosts',
    count: hosts,
    change: (_, at) => ({
      id: ids[at],
      name: numbered('host', at),
      token_hash: v7(),
      ...(isBad(at) && { status: 'silent', last_seen_at: long, first_seen_at: long }),
    }),
  });
  await copy(store, {
    name: 'configuration_queues',
    count: hosts,
    change: (_, at) => ({ name: `host.${ids[at] ?? ''}.requests`, host_id: ids[at] }),
  });
  await copy(store, {
    name: 'provisioning_nodes',
    count: nodes,
    change: (_, at) => {
      const id = v7();
      return {
        id,
        name: numbered('node', at),
        // Without a place no two are the same machine.
        claims: { given: id, place: id, machine: id, serial: id },
        instance_claim: id,
        state: 'available',
        maintenance: true,
        fault: isBad(at) ? 'power failure' : null,
        instance_id: null,
        properties: { rack: numbered('rack', Math.floor(at / 40)), power_domain: at % 2 === 0 ? 'a' : 'b' },
      };
    },
  });
  await copy(store, {
    name: 'gateway_directory_users',
    count: users,
    change: (_, at) => ({ name: numbered('user', at), enabled: !isBad(at), grants: [] }),
  });
  await copy(store, {
    name: 'gateway_directory_projects',
    count: projects,
    change: (_, at) => ({ name: numbered('project', at) }),
  });
  await store.close();
}
