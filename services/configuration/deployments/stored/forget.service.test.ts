/** Deployments that the service deletes by itself. */
import { randomUUID } from 'node:crypto';
import { configCreate, configShow } from '@anneal/contracts/calls/configs.ts';
import { deploymentCreate, deploymentList } from '@anneal/contracts/calls/deployments.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openConfigurationCollections } from '../../collections.ts';
import { claimed, createRig, project, type Rig } from '../../testing/running-service.ts';
import { forgetRuns } from './forget.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS: '3600' } });
});
afterAll(() => rig.dispose());

const list = async (config: string): Promise<string[]> =>
  (await rig.ask(deploymentList, { project, config })).deployments.map(({ id }) => id);

it('deletes an ended deployment and its config after their time, and keeps others', async () => {
  const host = await rig.host('web');
  const ids = { forgotten: randomUUID(), kept: randomUUID() };
  const made = Object.entries(ids).map(async ([name, config]) => {
    const forget = name === 'forgotten';
    const common = { project, name, group: 'script', config: 'true', inputs: [], outputs: [], options: {} };
    await rig.ask(configCreate, { ...common, id: config, forget });
    const deployment = {
      id: randomUUID(),
      project,
      host: host.id,
      config,
      input_values: {},
      action: 'CREATE' as const,
    };
    await rig.ask(deploymentCreate, { ...deployment, seconds: 60, forget });
  });
  await Promise.all(made);
  for (let count = 0; count < 2; count += 1) {
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
  }
  expect([...(await list(ids.forgotten)), ...(await list(ids.kept))]).toHaveLength(2);
  const collections = await openConfigurationCollections(rig.context.store);
  const forget = (hours: number): Promise<void> =>
    forgetRuns({ collections, runKeepMs: 3_600_000, now: Date.now() + hours * 3_600_000 });
  await forget(0.9);
  expect(await list(ids.forgotten)).toHaveLength(1);
  // The config waits for its deployment, so it goes one period later.
  await forget(2);
  expect(await list(ids.forgotten)).toEqual([]);
  await forget(4);
  await expect(rig.ask(configShow, { project, config: ids.forgotten })).rejects.toThrow(/no config|does not exist/i);
  expect(await list(ids.kept)).toHaveLength(1);
  expect(await rig.ask(configShow, { project, config: ids.kept })).toMatchObject({ id: ids.kept });
});
