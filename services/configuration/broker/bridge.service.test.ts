import { readSettings } from '@anneal/runtime/service/settings.ts';
import { change } from '@anneal/store/change.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openConfigurationParts, type ConfigurationParts } from '../parts.ts';
import { configurationSettings } from '../settings.ts';
import { claimed, createRig, type Rig } from '../testing/running-service.ts';

let rig: Rig;
let parts: ConfigurationParts;
beforeEach(async () => {
  rig = await createRig();
  parts = await openConfigurationParts(rig.context, readSettings(configurationSettings, {}));
});
afterEach(async () => {
  const { context, contexts, acceptances, timers } = parts;
  await Promise.all([
    timers.stop(),
    contexts.stop(),
    acceptances.stop(),
    context.outbox.stop(),
    context.contacts.stop(),
  ]);
  await rig.dispose();
});

const deep = 100_000;

it.each<[string, (id: string) => string, string]>([
  ['nested too deep', (id) => `{"id":"${id}","outputs":{"x":${'['.repeat(deep)}${']'.repeat(deep)}}}`, 'nested deeper'],
  ['with a forbidden key', (id) => `{"id":"${id}","status_code":0,"outputs":{"__proto__":{}}}`, 'forbidden prototype'],
  ['cut', (id) => `{"id":"${id}","status_code":0,"stdout":"it wa`, 'not valid JSON'],
  ['too long', (id) => `{"id":"${id}","stdout":"${'x'.repeat(300_000)}"}`, 'the limit is 262144'],
  ['of another form', (id) => JSON.stringify({ id, status_code: 'no' }), 'body.status_code'],
])(
  'an answer over the broker that is refused fails its run at once, and its host gets the reason: %s',
  async (_what, textOf, reason) => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::OrderedConfig',
      properties: { hosted_on: host.id, script: 'true' },
    });
    const { request } = await claimed(rig, host.id);
    await change(parts.context.collections.hosts, host.id, (current) => ({
      ...current,
      broker: { hash: 'h', issued_at: rig.context.now().toISOString(), seen_at: 0 },
    }));
    const reply = await parts.bridge.take(host.id, Buffer.from(textOf(request.id)));
    expect(reply).toEqual({ accepted: false, error: expect.stringContaining(reason) as unknown });
    const { status, error } = await rig.final(resource.id);
    expect([status, error?.message]).toEqual(['failed', expect.stringContaining(reason)]);
  },
);
