import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRig, type Rig } from './testing/running-service.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.dispose());

it('OS::Marconi::QueueServer gives the address at which hosts reach their queues', async () => {
  const { resource } = await rig.request('create', { type: 'OS::Marconi::QueueServer', properties: { name: 'own' } });
  const made = await rig.final(resource.id);
  expect(made).toMatchObject({ status: 'complete', attributes: { name: 'own' } });
  expect(made.attributes?.['url']).toMatch(new RegExp(`^${rig.context.gatewayUrl}/`));
});
