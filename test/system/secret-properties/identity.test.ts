/** Every property of every type of an identity acts, the same when its value is secret. */
import { adminUser } from '@anneal/directory/principals.ts';
import { project, startTestGateway, type TestGateway } from '@anneal/gateway/testing/test-gateway.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { Probe } from '@anneal/provider/conformance/probe.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInTypes } from '@anneal/hot/served.ts';
import { lacksOf } from './effects.ts';
import { identityEntries } from './identity.ts';
import { recordOfTwin, storedRows, twinName, twins, valueIn, type Twin } from './twins.ts';

let gateway: TestGateway;
let probe: Probe;
beforeAll(async () => {
  gateway = await startTestGateway();
  const { bus, mint, newId, now } = gateway.context;
  const queue = requestsQueue('identity');
  probe = await Probe.open({ bus, mint, newId, now: () => now().getTime(), queue, project, withinMs: 20_000 });
  for (const name of ['store', 'shop']) await create('OS::Keystone::Service', { name, type: name });
  for (const name of ['staff', 'people']) await create('OS::Keystone::Group', { name });
  await create('OS::Keystone::User', { name: 'ann' });
  await create('OS::Keystone::Domain', { name: 'firm' });
});
afterAll(async () => {
  await probe.close();
  await gateway.stop();
});

/** Creates an object, and returns what is stored about it, with the grants that it made, and the attributes. */
async function create(type: string, properties: JsonObject, name = 'made'): Promise<Json> {
  const request = probe.request('create', { type, properties });
  const data = { ...request.data, operator: adminUser.id, resource: { ...request.data.resource, name } };
  await probe.send({ ...request, data });
  const answer = (await probe.final(request)).data;
  expect([type, properties, answer.status, answer.error]).toEqual([type, properties, 'complete', undefined]);
  const { id, physical_name } = data.resource;
  const own = id.replaceAll('-', '');
  const documents = storedRows(gateway.context).flatMap(({ collection, document }) => {
    const grants = itemsOf(document['grants']).filter((grant) => isObject(grant) && grant['by'] === own);
    if (document['id'] === own || document['id'] === id) return [{ collection, document: { ...document, id, grants } }];
    return grants.length > 0 ? [{ collection, document: { id, grants } }] : [];
  });
  const stored = recordOfTwin(gateway.context, documents, { id, name, physical_name });
  if (name !== 'made') await remove({ ...request, data });
  const shown = JSON.stringify([stored, answer.attributes ?? {}]).replaceAll(physical_name, 'PHYSICAL');
  return JSON.parse(twins.reduce((text, twin) => text.replaceAll(valueIn('@', twin) as string, '@'), shown)) as Json;
}

/** Removes the object, so that its twin makes all of its own. */
async function remove(request: ReturnType<Probe['request']>): Promise<void> {
  const removal = probe.request('delete', request);
  const asked = { ...removal, data: { ...removal.data, operator: adminUser.id } };
  await probe.send(asked);
  await probe.final(asked);
}

const itemsOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

const given = (twin: Twin, value: Json): Json =>
  twin === 'plain' ? valueIn(value, twin) : gateway.context.secrets.seal(valueIn(value, twin));

describe('each property', () => {
  const tried = builtInTypes.flatMap((type) => {
    const entry = identityEntries[type.type];
    return entry ? [{ name: type.type, properties: type.properties, entry }] : [];
  });
  it.each(tried)('of $name acts, a secret value as a plain one', async ({ name: type, properties, entry }) => {
    const { base = {}, values } = entry;
    const plain = new Map<string, Json | undefined>();
    for (const [property, value] of Object.entries(values)) {
      const records: Json[] = [];
      for (const twin of twins) {
        const name = twinName(twin, property);
        records.push(await create(type, { ...base, [property]: given(twin, value) }, name));
      }
      expect([property, records[1]]).toEqual([property, records[0]]);
      plain.set(property, records[0]);
    }
    for (const { path, property, value } of lacksOf({ properties }, entry)) {
      const others = { ...base, ...(value !== undefined && { [property]: valueIn(value, 'plain') }) };
      const without = await create(type, others, `without-${path.replaceAll(/\W+/g, '-')}`);
      expect([path, without]).not.toEqual([path, plain.get(property)]);
    }
  });
});
