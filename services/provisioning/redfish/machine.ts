/** What the service wants of one machine, in Redfish. Links are followed, never built; what was set is read back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Power } from '../node-document.ts';
import { overridesToDisk, overrideTo } from './boot-override.ts';
import { linkIn, type Access, type Answer, type RedfishHttp } from './http.ts';
import { readInventory } from './inventory.ts';
import { ejectAll, insertImage } from './virtual-media.ts';

type Body = Readonly<Record<string, unknown>>;

const resetsFor = {
  'power on': ['On', 'ForceOn', 'PushPowerButton'],
  'power off': ['ForceOff', 'PushPowerButton'],
  'soft power off': ['GracefulShutdown', 'PushPowerButton'],
} as const;
export type Change = keyof typeof resetsFor;

export class RedfishMachine {
  readonly #http: RedfishHttp;
  readonly #access: Access;
  readonly #systemId: string | null;
  #path: string | undefined;

  constructor(http: RedfishHttp, options: { access: Access; systemId: string | null }) {
    this.#http = http;
    this.#access = options.access;
    this.#systemId = options.systemId;
  }

  get = (path: string): Promise<Answer> => this.#http.send(this.#access, 'GET', path);
  post = (path: string, body: unknown): Promise<Answer> => this.#http.send(this.#access, 'POST', path, { body });

  async system(): Promise<Answer> {
    this.#path ??= await this.#findSystem();
    return this.get(this.#path);
  }

  async power(): Promise<Power | null> {
    return powerIn((await this.system()).body);
  }

  /** Asks for a change and does not wait for it: accepting a reset is not the state. */
  async reset(change: Change): Promise<void> {
    const { body } = await this.system();
    const action = (body['Actions'] as Record<string, Body> | undefined)?.['#ComputerSystem.Reset'];
    const target = action?.['target'];
    if (typeof target !== 'string') throw this.#refused(`the system ${this.#path} has no reset action`);
    const allowed = action?.['ResetType@Redfish.AllowableValues'];
    const wanted = resetsFor[change];
    const type = Array.isArray(allowed) ? wanted.find((name) => allowed.includes(name)) : wanted[0];
    if (type === undefined)
      throw this.#refused(`the system ${this.#path} allows none of the resets ${wanted.join(', ')}`);
    await this.post(target, { ResetType: type });
  }

  /**
   * Resolves when the power has been read to be so, or `proven` gives that it was; false when it is not within
   * `withinMs`.
   */
  async awaitPower(wanted: Power, withinMs: number, proven?: () => Promise<boolean>): Promise<boolean> {
    const end = Date.now() + withinMs;
    for (let pause = 100; ; pause = Math.min(1_000, pause * 1.5)) {
      if ((await this.power()) === wanted || (await proven?.())) return true;
      if (Date.now() + pause > end) return false;
      await sleep(pause);
    }
  }

  /** Once, from this address: by HTTP boot where the firmware can, else from the virtual drive. */
  async bootFrom(url: string): Promise<'http' | 'media'> {
    const { body } = await this.system();
    const boot = (body['Boot'] ?? {}) as Body;
    const targets = boot['BootSourceOverrideTarget@Redfish.AllowableValues'];
    if (Array.isArray(targets) && targets.includes('UefiHttp')) {
      try {
        await this.#setBoot({ ...overrideTo(boot, 'UefiHttp'), HttpBootUri: url });
        return 'http';
      } catch (error) {
        // Advertised is not accepted: what refuses HTTP boot may still take an image.
        if (!(error instanceof AnnealError) || error.code !== 'BmcRefused') throw error;
      }
    }
    const { body: system } = await this.system();
    await insertImage(this, system, url, (why) => this.#refused(why));
    await this.#setBoot(overrideTo(boot, 'Cd'));
    return 'media';
  }

  /** From now on it boots from its disk. The drive is emptied also when the override is refused. */
  async bootFromDisk(): Promise<void> {
    const { body } = await this.system();
    const results = await Promise.allSettled([this.#endOverride(body)]);
    results.push(...(await Promise.allSettled([ejectAll(this, body, (why) => this.#refused(why))])));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Advertised is not accepted: what the BMC refuses is followed by the next best. */
  async #endOverride(system: Body): Promise<void> {
    let refusal: unknown;
    for (const override of overridesToDisk((system['Boot'] ?? {}) as Body)) {
      try {
        await this.#setBoot(override);
        return;
      } catch (error) {
        if (!(error instanceof AnnealError) || error.code !== 'BmcRefused') throw error;
        refusal = error;
      }
    }
    if (refusal !== undefined) throw refusal;
  }

  async inventory(): Promise<JsonObject> {
    const { body } = await this.system();
    return readInventory(this, body);
  }

  /** Read, change that version, read back. A version that moved on meanwhile is read again. */
  async #setBoot(wanted: Readonly<Record<string, string>>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const before = await this.system();
      const path = this.#path ?? '';
      try {
        await this.#http.send(this.#access, 'PATCH', path, { body: { Boot: wanted }, etag: before.etag });
        break;
      } catch (error) {
        const moved = error instanceof AnnealError && error.details?.['status'] === 412;
        if (!moved || attempt >= 4) throw error;
      }
    }
    const boot = ((await this.system()).body['Boot'] ?? {}) as Body;
    const differs = Object.entries(wanted).filter(
      // Some firmware keeps Once as Continuous; that boots where we want, and is set to the disk afterwards.
      ([name, value]) => name !== 'BootSourceOverrideEnabled' && boot[name] !== value,
    );
    if (differs.length > 0) {
      throw this.#refused(`the boot override was accepted but reads back ${JSON.stringify(boot)}`);
    }
  }

  async #findSystem(): Promise<string> {
    if (this.#systemId?.startsWith('/')) return this.#systemId;
    const { body: root } = await this.get('/redfish/v1/');
    const { body: systems } = await this.get(linkIn(root, 'Systems') ?? '/redfish/v1/Systems');
    const members = (Array.isArray(systems['Members']) ? systems['Members'] : []).flatMap(
      (member) => linkIn(member) ?? [],
    );
    const wanted = this.#systemId;
    const found =
      wanted === null
        ? members.length === 1
          ? members[0]
          : undefined
        : members.find((path) => path.endsWith(`/${wanted}`));
    if (found !== undefined) return found;
    throw this.#refused(
      wanted === null
        ? `it has ${members.length} systems; say which one with redfish_system_id: ${members.slice(0, 20).join(', ')}`
        : `it has no system ${wanted}; it has ${members.slice(0, 20).join(', ')}`,
    );
  }

  #refused(why: string): AnnealError {
    const { node, address } = this.#access;
    return new AnnealError('BmcRefused', `The BMC of node ${node} at ${address}: ${why}`, {
      details: { node, url: address },
    });
  }
}

/** On the way, or not known, is not known. */
export function powerIn(system: Body): Power | null {
  return system['PowerState'] === 'On' ? 'power on' : system['PowerState'] === 'Off' ? 'power off' : null;
}
