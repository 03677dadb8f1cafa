/** The sensors of nodes as metrics, with a real lab. */
import { nodeRemove } from '@anneal/contracts/calls/nodes.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, expect, it } from 'vitest';
import { ProvisioningWorld } from './provisioning-world.ts';

let world: ProvisioningWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const open = async (settings: Record<string, string>): Promise<ProvisioningWorld> => {
  const opened = await ProvisioningWorld.open({
    machines: 2,
    settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '1', ...settings },
  });
  world = opened;
  return opened;
};
const lines = async ({ context }: ProvisioningWorld, node: string): Promise<string[]> =>
  (await context.metrics.metrics())
    .split('\n')
    .filter((line) => line.startsWith('anneal_node_sensor') && line.includes(`node="${node}"`));

it('shows the sensors of each node that answers, and none of one that does not, or is removed', async () => {
  const w = await open({ ANNEAL_PROVISIONING_SENSOR_SECONDS: '1' });
  await w.enrolAll();
  const shown = (node: string, count: (found: string[]) => boolean) =>
    eventually(
      async () => {
        const found = await lines(w, node);
        return count(found) ? found : undefined;
      },
      { what: `the sensors of ${node}` },
    );
  const first = await shown('machine-1', (found) => found.length > 0);
  expect(first).toContainEqual(
    expect.stringMatching(
      /^anneal_node_sensor\{node="machine-1",sensor="[^"]+",kind="temperature",unit="°C"\} [\d.]+$/,
    ),
  );
  expect(first.some((line) => line.startsWith('anneal_node_sensor_alarm'))).toBe(false);
  await shown('machine-2', (found) => found.length > 0);
  await w.fault('machine-1', { sensors: { CPU1Temp: 95 } });
  const alarm = await shown('machine-1', (found) => found.some((line) => line.startsWith('anneal_node_sensor_alarm')));
  expect(alarm).toContain(
    'anneal_node_sensor_alarm{node="machine-1",sensor="CPU 1 temperature",kind="temperature",state="critical"} 1',
  );
  await w.fault('machine-1', { dark: true });
  await shown('machine-1', (found) => found.length === 0);
  await w.ask(nodeRemove, { node: 'machine-2' });
  await shown('machine-2', (found) => found.length === 0);
});
