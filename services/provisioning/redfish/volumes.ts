/** Volumes of storage controllers (RAID). */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { WantedVolume } from '../bmc/port.ts';
import type { StepProgress } from '../documents/progress.ts';
import { linkIn } from './conversation/links.ts';
import { afterTask, type SettingsClient } from './settings.ts';
import { taskOf } from './conversation/task.ts';

type Body = Readonly<Record<string, unknown>>;

const lookMs = 1_000;
const done = { kind: 'done' } as const;
const raidTypes: Readonly<Record<string, string>> = {
  0: 'RAID0',
  1: 'RAID1',
  5: 'RAID5',
  6: 'RAID6',
  '1+0': 'RAID10',
  '5+0': 'RAID50',
  '6+0': 'RAID60',
};
/** The property of services from before 2020, which some still demand. */
const olderTypes: Readonly<Record<string, string>> = {
  0: 'NonRedundant',
  1: 'Mirrored',
  5: 'StripedWithParity',
  6: 'StripedWithParity',
  '1+0': 'SpannedMirrors',
  '5+0': 'SpannedStripesWithParity',
  '6+0': 'SpannedStripesWithParity',
};
/** The least number of drives of each level. */
const leastDrives: Readonly<Record<string, number>> = { 0: 1, 1: 2, 5: 3, 6: 4, '1+0': 4, '5+0': 6, '6+0': 8 };

const membersIn = (body: Body): string[] =>
  (Array.isArray(body['Members']) ? (body['Members'] as unknown[]) : []).flatMap((member) => linkIn(member) ?? []);

interface Controller {
  readonly volumes: string;
  readonly members: readonly string[];
  readonly drives: readonly string[];
}

/** Storage with a collection of volumes. */
async function controllers(client: SettingsClient): Promise<Controller[]> {
  const { body: system } = await client.system();
  const storage = linkIn(system, 'Storage');
  const found: Controller[] = [];
  for (const path of storage === undefined ? [] : membersIn((await client.get(storage)).body)) {
    const { body } = await client.get(path);
    const volumes = linkIn(body, 'Volumes');
    if (volumes === undefined) continue;
    const drives = (Array.isArray(body['Drives']) ? (body['Drives'] as unknown[]) : []).flatMap(
      (drive) => linkIn(drive) ?? [],
    );
    found.push({ volumes, members: membersIn((await client.get(volumes)).body), drives });
  }
  return found;
}

/**
 * Creates the volumes that are missing, in their order. A volume is the same when it has the same name, or when this step
 * has created it: some controllers give it a name of their own.
 */
export async function createVolumes(
  client: SettingsClient,
  { disks, memo }: { disks: readonly WantedVolume[]; memo: JsonObject },
): Promise<StepProgress> {
  if (!(await afterTask(client, memo))) return { kind: 'wait', ms: lookMs, memo };
  const found = await controllers(client);
  const names = new Set<unknown>();
  for (const { members } of found) for (const path of members) names.add((await client.get(path)).body['Name']);
  const wanted = disks.map((disk, index) => ({ ...disk, name: disk.volume_name ?? `volume${index + 1}` }));
  const made = Array.isArray(memo['made']) ? memo['made'] : [];
  const next = wanted.find(({ name }) => !names.has(name) && !made.includes(name));
  if (!next) return done;
  const least = leastDrives[next.raid_level] ?? 1;
  const controller = found.find(({ drives }) => drives.length >= least);
  if (!controller) {
    const most = Math.max(0, ...found.map(({ drives }) => drives.length));
    throw client.unable(
      `no storage with volumes has the ${least} drives that RAID ${next.raid_level} needs; the largest has ${most}`,
    );
  }
  const drives = controller.drives.map((path) => ({ '@odata.id': path }));
  const body = {
    Name: next.name,
    RAIDType: raidTypes[next.raid_level],
    ...(next.size_gb !== 'MAX' && { CapacityBytes: Math.round(next.size_gb * 1024 ** 3) }),
    Links: { Drives: drives },
  };
  const known = {
    VolumeType: [olderTypes[next.raid_level]],
    Drives: [drives],
    '@Redfish.OperationApplyTime': ['Immediate'],
  };
  const answer = await client.begin({ method: 'POST', path: controller.volumes, body, form: { known } });
  return after(answer, { made: [...made, next.name] });
}

export async function deleteVolumes(client: SettingsClient, memo: JsonObject): Promise<StepProgress> {
  if (!(await afterTask(client, memo))) return { kind: 'wait', ms: lookMs, memo };
  const [first] = (await controllers(client)).flatMap(({ members }) => members);
  return first === undefined ? done : after(await client.begin({ method: 'DELETE', path: first }));
}

function after(answer: Parameters<typeof taskOf>[0], memo: JsonObject = {}): StepProgress {
  const task = taskOf(answer);
  return { kind: 'wait', ms: lookMs, memo: { ...memo, ...(task !== undefined && { task }) } };
}
