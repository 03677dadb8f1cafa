/**
 * Settings of a machine that its controller stores and its firmware takes over: BIOS attributes, secure boot, firmware.
 *
 * Each function runs again until it is done, reads first and changes only what differs, and throws when the controller
 * refuses, so that a process that dies in between does no harm.
 */
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { isDeepStrictEqual } from 'node:util';
import type { StepProgress } from '../documents/progress.ts';
import { changeBy, readAction } from './conversation/action.ts';
import { transferProtocol, type BmcChange } from './conversation/form.ts';
import { linkIn } from './conversation/links.ts';
import { readBmcTask, taskOf } from './conversation/task.ts';
import type { FirmwareWish } from '../bmc/port.ts';
import type { RedfishAnswer } from './conversation/transport.ts';

type Body = Readonly<Record<string, unknown>>;

/** A machine, as the settings need it. `system` checks its identity. */
export interface SettingsClient {
  get(path: string): Promise<RedfishAnswer>;
  /** Sends a change whose task may outlast the turn. The step keeps it in its memo. */
  begin(change: BmcChange): Promise<RedfishAnswer>;
  /** Changes a document, and waits until it is changed. */
  patch(path: string, body: unknown, etag?: string): Promise<RedfishAnswer>;
  system(): Promise<RedfishAnswer>;
  /** The error for a feature that is missing or a change that failed: a retry cannot help. */
  unable(why: string): AnnealError;
}

const lookMs = 1_000;
const done = { kind: 'done' } as const;
const wait = (memo: JsonObject): StepProgress => ({ kind: 'wait', ms: lookMs, memo });

/** Undefined while the task of the last change runs. */
export async function afterTask(client: SettingsClient, { task }: JsonObject): Promise<true | undefined> {
  if (typeof task !== 'string') return true;
  const outcome = await readBmcTask(client, { monitor: task, task: undefined });
  if (outcome.kind === 'failed') throw client.unable(`the task ${task} ${outcome.why}`);
  return outcome.kind === 'done' || undefined;
}

/** The resource behind a link of the system. @throws AnnealError when the BMC has none. */
export async function linked(client: SettingsClient, name: string, what: string) {
  const { body: system } = await client.system();
  const path = linkIn(system, name);
  if (path === undefined) throw client.unable(`it offers no ${what} (${name} of the system)`);
  return { path, ...(await client.get(path)) };
}

/** Writes BIOS attributes, restarts the firmware, and reads back what it took over. */
export async function applyBios(
  client: SettingsClient,
  { wanted, memo }: { wanted: Readonly<Record<string, Json>>; memo: JsonObject },
): Promise<StepProgress> {
  const bios = await linked(client, 'Bios', 'BIOS settings');
  const present = isObject(bios.body['Attributes']) ? bios.body['Attributes'] : {};
  const unknown = Object.keys(wanted).filter((name) => !Object.hasOwn(present, name));
  if (unknown.length > 0) {
    const some = Object.keys(present).slice(0, 20).join(', ');
    throw client.unable(`its BIOS has no setting ${unknown.join(', ')}; it has ${some || 'none'}`);
  }
  const differing = Object.entries(wanted).filter(([name, value]) => !isDeepStrictEqual(present[name], value));
  if (differing.length === 0) return done;
  if (!(await afterTask(client, memo))) return wait(memo);
  if (memo['written'] === true) return wait(memo);
  const settings = linkIn(bios.body, '@Redfish.Settings', 'SettingsObject') ?? bios.path;
  const { etag } = settings === bios.path ? bios : await client.get(settings);
  const body = { Attributes: Object.fromEntries(differing) };
  const task = taskOf(await client.begin({ method: 'PATCH', path: settings, body, etag }));
  return { kind: 'restart', memo: { written: true, ...(task !== undefined && { task }) } };
}

export async function resetBios(client: SettingsClient, memo: JsonObject): Promise<StepProgress> {
  if (memo['written'] === true) return (await afterTask(client, memo)) ? done : wait(memo);
  const bios = await linked(client, 'Bios', 'BIOS settings');
  const change = changeBy(await readAction(client, bios.body, '#Bios.ResetBios'), {});
  if (change === undefined) throw client.unable('its BIOS offers no reset to factory settings (#Bios.ResetBios)');
  const task = taskOf(await client.begin(change));
  return { kind: 'restart', memo: { written: true, ...(task !== undefined && { task }) } };
}

export async function applySecureBoot(
  client: SettingsClient,
  { enabled, memo }: { enabled: boolean; memo: JsonObject },
): Promise<StepProgress> {
  const secure = await linked(client, 'SecureBoot', 'secure boot');
  const current = secure.body['SecureBootCurrentBoot'];
  const isWanted = secure.body['SecureBootEnable'] === enabled;
  // Firmware that does not say what this boot has says something else.
  if (isWanted && current !== (enabled ? 'Disabled' : 'Enabled')) return done;
  if (memo['written'] === true) return wait(memo);
  if (!isWanted) await client.patch(secure.path, { SecureBootEnable: enabled }, secure.etag);
  return { kind: 'restart', memo: { written: true } };
}

/** Updates one component after the other. A controller may be away while it updates itself. */
export async function applyFirmware(
  client: SettingsClient,
  { settings, memo }: { settings: readonly FirmwareWish[]; memo: JsonObject },
): Promise<StepProgress> {
  const at = typeof memo['at'] === 'number' ? memo['at'] : 0;
  if (!(await afterTask(client, memo))) return wait(memo);
  const next = typeof memo['task'] === 'string' ? at + 1 : at;
  const wish = settings[next];
  // New firmware runs from the next start of the machine.
  if (!wish) return memo['restarted'] === true ? done : { kind: 'restart', memo: { at: next, restarted: true } };
  await client.system();
  const { body: root } = await client.get('/redfish/v1/');
  const path = linkIn(root, 'UpdateService');
  if (path === undefined) throw client.unable('it offers no update of firmware (UpdateService)');
  const { body: service } = await client.get(path);
  const update = await readAction(client, service, '#UpdateService.SimpleUpdate');
  const known = { TransferProtocolType: [transferProtocol(wish.url)], '@Redfish.OperationApplyTime': ['Immediate'] };
  const body = { ImageURI: wish.url, Targets: [await componentOf(client, service, wish.component)] };
  const change = changeBy(update, body, known);
  if (change === undefined) throw client.unable('its UpdateService offers no SimpleUpdate');
  const answer = await client.begin(change);
  const task = taskOf(answer);
  return wait(task === undefined ? { at: next + 1 } : { at: next, task });
}

/** The firmware with this id. @throws AnnealError that lists those that exist. */
async function componentOf(client: SettingsClient, service: Body, component: string): Promise<string> {
  const path = linkIn(service, 'FirmwareInventory');
  const members = path === undefined ? [] : (await client.get(path)).body['Members'];
  const paths = (Array.isArray(members) ? members : []).flatMap((member) => linkIn(member) ?? []);
  const idOf = (each: string): string => each.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const found = paths.find((each) => idOf(each).toLowerCase() === component.toLowerCase());
  if (found !== undefined) return found;
  throw client.unable(`it has no firmware ${component}; it has ${paths.map(idOf).join(', ') || 'none'}`);
}
