/** The timers of runs: how many are written, and what happens with those of other processes. */
import { eventually } from '@anneal/runtime/testing.ts';
import type { Document } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimed, createRig, type Rig } from '../../testing/running-service.ts';

interface StoredTimer extends Document {
  readonly dueAt: number;
  readonly readyAt: number;
  readonly failures: number;
  readonly data: { readonly host: string; readonly process: string };
}

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const timers = () =>
  rig.context.store.collection<StoredTimer>({ name: 'configuration_timers', indexes: [{ fields: ['readyAt'] }] });
const ofRuns = async (): Promise<StoredTimer[]> =>
  (await (await timers()).find({ where: { readyAt: { gt: 0 } } })).filter(({ id }) => id.startsWith('runs:'));

it('L1: the runs of a host share one timer, which is written once', async () => {
  const host = await rig.host('web');
  for (let step = 0; step < 3; step += 1) {
    await rig.request('create', {
      type: 'OS::Heat::OrderedConfig',
      properties: { hosted_on: host.id, script: 'true' },
    });
  }
  for (let step = 0; step < 3; step += 1) {
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
  }
  expect(await ofRuns()).toMatchObject([{ version: 1, data: { host: host.id } }]);
});

it('L2: after the timer of another process, a host is looked at once more', async () => {
  const host = await rig.host('web');
  const now = rig.context.now().getTime();
  const data = { host: host.id, process: 'another' };
  await (await timers()).insert({ id: `runs:${host.id}:another`, dueAt: now, readyAt: now, failures: 0, data });
  const [own] = await eventually(
    async () => {
      const found = await ofRuns();
      return found.length === 1 && found[0]?.data.process !== 'another' ? found : undefined;
    },
    { what: 'a timer of this process in place of the other one' },
  );
  expect(own?.dueAt).toBeGreaterThanOrEqual(now + 60_000);
});
