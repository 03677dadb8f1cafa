import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { expect, it } from 'vitest';
import type { BmcChange } from './conversation/form.ts';
import type { SettingsClient } from './settings.ts';
import { createVolumes } from './volumes.ts';

const link = (path: string) => ({ '@odata.id': path });
const answer = (body: object) => ({ status: 200, body }) as never;

/** A controller with four drives that gives its volumes names of its own. */
function controller() {
  const posted: unknown[] = [];
  const documents: Record<string, () => object> = {
    '/storage': () => ({ Members: [link('/storage/1')] }),
    '/storage/1': () => ({ Volumes: link('/volumes'), Drives: ['a', 'b', 'c', 'd'].map(link) }),
    '/volumes': () => ({ Members: posted.map((_, at) => link(`/volumes/${at}`)) }),
  };
  const client: SettingsClient = {
    get: async (path) => answer(documents[path]?.() ?? { Name: `Virtual Disk ${path.at(-1)}` }),
    begin: async ({ body }: BmcChange) => {
      posted.push(body);
      return answer({});
    },
    patch: async () => answer({}),
    system: async () => answer({ Storage: link('/storage') }),
    unable: (why) => new AnnealError('ResourceFailed', why),
  };
  return { client, posted };
}

it('creates each volume once at a controller that gives it a name of its own', async () => {
  const { client, posted } = controller();
  const disks = [
    { size_gb: 10, raid_level: '1', volume_name: 'root' },
    { size_gb: 'MAX' as const, raid_level: '5' },
  ];
  let memo: JsonObject = {};
  for (let round = 0; ; round += 1) {
    const progress = await createVolumes(client, { disks, memo });
    if (progress.kind === 'done') break;
    expect(round).toBeLessThan(5);
    memo = progress.kind === 'wait' ? (progress.memo ?? {}) : {};
  }
  expect(posted).toMatchObject([
    { Name: 'root', RAIDType: 'RAID1' },
    { Name: 'volume2', RAIDType: 'RAID5' },
  ]);
});
