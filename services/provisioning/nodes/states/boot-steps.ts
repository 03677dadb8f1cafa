/**
 * Boots a machine and waits until it proves that it booted.
 *
 * B1 Only an exchange of the secret after the command to power on proves that the machine booted. A BMC that fetches
 *    the image proves nothing.
 * B2 A machine whose BMC reports progress is never reset: memory training alone may take a quarter of an hour.
 * B3 A secret that two programs tried to exchange is replaced, with the host's token, before the machine boots again. So is
 *    one whose only exchange was refused: if it was the machine's, the machine waits for nothing.
 * B4 A machine whose firmware lost the server while it loaded the boot file is booted again, because firmware gives up
 *    and waits in its shell or its menu.
 * B5 The present reading of the power counts more than a milestone of the past. A machine that exchanged its secret and is
 *    off, is in its self-test again, or boots a second time, boots again at once with a new secret.
 * B6 A machine that wrote its image powers off. Its boot device and its drive are set while it is off, and the BMC starts it,
 *    because many BMCs apply such a change only at a start from off. A machine with a script of an older version restarts
 *    itself; the BMC starts it only when it is found off, or has loaded the ramdisk again.
 * B7 A machine that proves no boot is booted `mostTries` times, and waited for until the deadline. One that is off is booted
 *    again all the same: it lost its power, and its boot is not to blame.
 */
import { createHash, randomBytes } from 'node:crypto';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../../bmcs.ts';
import type { ServerHosts } from './hosts.ts';
import type { Boot, BootSeen, NodeDocument, Power, NodeChange } from '../../documents/node.ts';
import type { NodeRecords } from '../../documents/records.ts';
import { UnwantedStep, type StepOutcome, type Settled } from './step-outcome.ts';

export interface BootStepOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly hosts: ServerHosts;
  readonly ensure: (node: NodeDocument, wanted: Power) => Promise<NodeChange>;
  readonly withinMs: (node: NodeDocument) => number;
  /** The machine is booted again after this long without proof of a boot and without progress. */
  readonly retryMs: number;
  /** The machine is booted again when its firmware got a part of its boot file and asked for nothing for this long. */
  readonly loadMs: number;
}

const mostTries = 3;
/** How often a machine that is waited for is read, and at most how long its BMC has to agree with its last reading. */
const lookMs = 15_000;
const confirmMs = 1_000;
/** How long a machine that announced to power off may take. Then its BMC turns it off. */
const offMs = 60_000;
const offSeen = 'off';
const settleAttempts = 3;

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (): string => randomBytes(32).toString('base64url');

/**
 * B2. True when a machine gets more time: it booted and is on, has just started, is in its self-test, or made progress.
 */
export function isWorthWaiting(look: {
  boot: Pick<Boot, 'powered_at' | 'progress' | 'exchanged_at'>;
  power: Power | null;
  seen: string;
  inPost: boolean;
  now: number;
  retryMs: number;
}): boolean {
  const { boot, power, seen, inPost, now, retryMs } = look;
  if (power === 'power off') return false;
  const early = now < (Date.parse(boot.powered_at ?? '') || now) + retryMs;
  // The machine has booted. Its installation may take until the deadline.
  if (boot.exchanged_at !== null) return true;
  const { seen: before = '', at = '' } = boot.progress ?? {};
  return early || inPost || seen !== before || now - Date.parse(at) < retryMs / 2;
}

/** The reading of the boot progress to record. */
function seenNext(
  { progress, exchanged_at }: Pick<Boot, 'progress' | 'exchanged_at'>,
  { seen, inPost, at }: { seen: string; inPost: boolean; at: string },
): BootSeen {
  const left = (progress?.left_post ?? false) || (exchanged_at !== null && seen !== '' && seen !== offSeen && !inPost);
  return { seen, at: progress?.seen === seen ? progress.at : at, looked_at: at, ...(left && { left_post: true }) };
}

/** B5. How a machine that has booted shows that it started again. A reading of off must be confirmed, because BMCs misread. */
export function startedAgain(
  { progress }: Pick<Boot, 'progress'>,
  { power, seen, inPost }: { power: Power | null; seen: string; inPost: boolean },
): 'unsure' | 'is off' | 'is in its self-test again' | 'found nothing to boot' | undefined {
  if (power === 'power off') return progress?.seen === offSeen ? 'is off' : 'unsure';
  if (inPost && progress?.left_post) return 'is in its self-test again';
  return /no boot(?:able)? (?:device|media)/i.test(seen) ? 'found nothing to boot' : undefined;
}

/** B4. When the firmware that got only a part of its boot file counts as lost: never when it got all, or has booted. */
export const lostAt = ({ load, exchanged_at }: Pick<Boot, 'load' | 'exchanged_at'>, loadMs: number): number =>
  load && !load.done && exchanged_at === null ? Date.parse(load.at) + loadMs : Infinity;

export class BootSteps {
  readonly #options: BootStepOptions;

  constructor(options: BootStepOptions) {
    this.#options = options;
  }

  newBoot(purpose: Boot['purpose'], host: JsonObject): Boot {
    const { secrets } = this.#options.context;
    const secret = newSecret();
    const report_token = purpose === 'deploy' ? newSecret() : textIn(host['token']);
    return {
      purpose,
      secret: secrets.seal(secret),
      secret_hash: hashOf(secret),
      host: secrets.seal(purpose === 'deploy' ? { ...host, report_token } : host),
      token_hash: hashOf(report_token),
      method: null,
      tries: 0,
      commanded_at: null,
      powered_at: null,
      fetched_at: null,
      exchanged_at: null,
      key_hash: null,
      refused_at: null,
      progress: null,
      answered_at: null,
      report: null,
    };
  }

  newCleaningBoot(): Boot {
    return this.newBoot('clean', { token: newSecret() });
  }

  /** @param password sealed; of the rescue user. */
  newRescueBoot(password: Json): Boot {
    const rescue_password = textIn(this.#options.context.secrets.open(password));
    return this.newBoot('rescue', { token: newSecret(), ...(rescue_password !== '' && { rescue_password }) });
  }

  /** True when a host that was up before this boot has asked for work with its new token. */
  async isBack(node: NodeDocument): Promise<boolean> {
    const { exchanged_at, rebuild = false } = bootOf(node);
    if (!rebuild || exchanged_at === null || node.instance_id === null) return false;
    const { last_seen_at } = await this.#options.hosts.show(node.instance_id, textIn(node.instance_info['project']));
    return last_seen_at !== null && last_seen_at >= exchanged_at;
  }

  async setBoot(node: NodeDocument): Promise<Boot> {
    const { bmcs, context } = this.#options;
    const boot = bootOf(node);
    const url = `${context.gatewayUrl.replace(/\/$/, '')}/boot/v1/${textIn(context.secrets.open(boot.secret))}`;
    const method = await bmcs.with(node, (machine) => machine.bootFrom(url));
    return { ...boot, method };
  }

  /**
   * B1: records the command before the BMC gets it, so that an exchange of this machine never comes too early.
   * @throws UnwantedStep when the node has another boot meanwhile, whose command is not recorded yet
   */
  async powerOn(node: NodeDocument): Promise<NodeChange> {
    const { bmcs, records, withinMs } = this.#options;
    const boot = bootOf(node);
    const isThis = (current: Boot | null | undefined): current is Boot => current?.secret_hash === boot.secret_hash;
    const commanded = await records.change(node.id, ({ boot: current }) => {
      if (!isThis(current) || (current.commanded_at !== null && !current.load)) return undefined;
      // An earlier load belongs to the boot before.
      const { load: _, ...begun } = current;
      return { boot: { ...begun, commanded_at: current.commanded_at ?? this.#time() } };
    });
    // A machine that erased itself may be off again before its power is read. It must not be switched on twice.
    const proven = async (): Promise<boolean> => {
      const current = (await records.get(node.id))?.boot;
      if (!isThis(current)) throw new UnwantedStep();
      return current.exchanged_at !== null;
    };
    if (!(await proven())) await bmcs.ensurePower(node, 'power on', { withinMs: withinMs(node), proven });
    const power = await bmcs.with(node, (machine) => machine.power());
    const commanded_at = commanded?.boot?.commanded_at ?? boot.commanded_at;
    return { power, boot: { ...boot, commanded_at, tries: boot.tries + 1, powered_at: this.#time(), progress: null } };
  }

  async #bootAgain(node: NodeDocument): Promise<StepOutcome> {
    const off = await this.#options.ensure(node, 'power off');
    const boot = await this.setBoot(node);
    return { kind: 'again', change: await this.powerOn({ ...node, ...off, boot }) };
  }

  /** B3. Renews the secret. The machine boots with it in the next round, after it is recorded. */
  async #renewed(node: NodeDocument, boot: Boot): Promise<Boot> {
    if (boot.purpose === 'clean') return { ...this.newCleaningBoot(), tries: boot.tries };
    const host = this.#options.context.secrets.open(boot.host);
    if (boot.purpose === 'rescue')
      return { ...this.newBoot('rescue', { ...(isObject(host) && host), token: newSecret() }), tries: boot.tries };
    const token = await this.#options.hosts.renewToken(node.instance_id ?? '', textIn(node.instance_info['project']));
    // The machine may have booted meanwhile. Its host is then up already, so no event reports it after this boot.
    return { ...this.newBoot('deploy', { ...(isObject(host) && host), token }), tries: boot.tries, rebuild: true };
  }

  /** Returns the next wait. Boots the machine again when it neither proves its boot nor makes progress. */
  async awaitMachine(node: NodeDocument): Promise<StepOutcome> {
    const { bmcs, context, retryMs, loadMs } = this.#options;
    const boot = bootOf(node);
    const deadline = node.work?.deadline ?? this.#now();
    const until = (at: number, change?: NodeChange): StepOutcome => ({
      kind: 'wait',
      ms: Math.min(at, deadline) - this.#now(),
      ...(change && { change }),
    });
    if (boot.powered_at === null) return this.#bootAgain(node);
    // B7
    const isSpent = boot.tries >= mostTries && boot.exchanged_at === null;
    const renew = async (why: string): Promise<StepOutcome> => {
      context.log.warn({ node: node.name }, `${why}; booting with a new secret`);
      // A machine that exchanged its secret can boot, so this try does not count.
      const tries = boot.exchanged_at === null ? boot.tries : 0;
      return { kind: 'again', startsAgain: true, change: { boot: { ...(await this.#renewed(node, boot)), tries } } };
    };
    // B5
    if (boot.returned_at !== undefined) return renew('machine booted a second time before it was done');
    const { exchanged_at } = boot;
    const isRefused = boot.refused_at !== null;
    if (isRefused && exchanged_at !== null && this.#now() >= Date.parse(exchanged_at) + retryMs)
      return renew('agent did not start after two tries with this boot secret');
    const lost = lostAt(boot, loadMs);
    const { progress } = boot;
    const pause = Math.min(progress?.seen === offSeen ? confirmMs : lookMs, retryMs / 2);
    const look = Math.min(lost, Date.parse(progress?.looked_at ?? progress?.at ?? boot.powered_at) + pause);
    if (!(isRefused && exchanged_at === null) && this.#now() < look) return until(look);
    if (isSpent && isRefused) return until(this.#now() + lookMs);
    const { power, seen, inPost } = await bmcs.with(node, (machine) => machine.bootProgress());
    if (exchanged_at === null && isRefused)
      return inPost ? until(this.#now() + loadMs) : renew('exchange of the boot secret was refused');
    const next = seenNext(boot, { seen: power === 'power off' ? offSeen : seen, inPost, at: this.#time() });
    if (isSpent && power !== 'power off') return until(this.#now() + lookMs, { boot: { ...boot, progress: next } });
    const restarted = startedAgain(boot, { power, seen, inPost });
    const isLost = (this.#now() >= lost && !inPost) || restarted === 'found nothing to boot';
    if (exchanged_at !== null && restarted === 'unsure')
      return until(this.#now() + confirmMs, { boot: { ...boot, progress: next } });
    if (exchanged_at !== null && restarted !== undefined)
      return renew(`machine ${restarted} after it exchanged its boot secret`);
    if (!isLost && isWorthWaiting({ boot, power, seen, inPost, now: this.#now(), retryMs })) {
      const again = lost > this.#now() ? lost : this.#now() + loadMs;
      return until(Math.min(this.#now() + Math.min(lookMs, retryMs / 2), again), { boot: { ...boot, progress: next } });
    }
    context.log.warn(
      { node: node.name, tries: boot.tries, power, progress: seen, load: boot.load },
      isLost
        ? 'firmware lost its boot file, or found nothing to boot; booting the machine again'
        : 'machine is off, or shows no boot progress; booting it again',
    );
    return this.#bootAgain(node);
  }

  /** The end of writing an image. Undefined while the machine has not reported. */
  async afterReport(node: NodeDocument): Promise<StepOutcome | undefined> {
    const boot = bootOf(node);
    if (boot.report?.status === 'failed') {
      const { code = 'ResourceFailed', unreachable, message } = boot.report;
      throw new AnnealError(
        unreachable === true ? 'ImageUnreachable' : code,
        `Node ${node.name} could not be deployed: ${message.replace(/[.\s]*$/, '')}.`,
        {
          details: { node: node.name },
        },
      );
    }
    if (boot.report?.status !== 'written') return undefined;
    if (boot.settled_at !== undefined) return this.#startFromDisk(node, boot);
    // B6. A machine that restarts itself must find the change before.
    if (boot.report.powers_off !== true) await this.settle(node);
    return { kind: 'again', startsAgain: true, change: { boot: { ...boot, settled_at: this.#time() } } };
  }

  /** B6 */
  async #startFromDisk(node: NodeDocument, boot: Boot): Promise<StepOutcome> {
    const { disk, settled_at = '', report } = boot;
    const wait = (ms: number, change?: NodeChange): StepOutcome => ({
      kind: 'wait',
      ms: Math.min(ms, (node.work?.deadline ?? Infinity) - this.#now()),
      ...(change && { change }),
    });
    if ((disk?.tries ?? 0) >= mostTries) return wait(Infinity);
    const since = disk?.at ?? settled_at;
    const hasReturned = boot.returned_at !== undefined && boot.returned_at > since;
    const waitsForOff = disk === undefined && report?.powers_off === true;
    const isLate = waitsForOff && this.#now() >= Date.parse(settled_at) + offMs;
    const power = await this.#options.bmcs.with(node, (machine) => machine.power());
    if (power !== 'power off' && !hasReturned && !isLate) return wait(waitsForOff ? confirmMs : lookMs, { power });
    if (disk !== undefined || hasReturned)
      this.#options.context.log.warn(
        { node: node.name, power },
        'machine is off, or loaded the ramdisk again; starting it from its disk',
      );
    const off = await this.#options.ensure(node, 'power off');
    const settled = await this.settle(node);
    const warning = 'warning' in settled && { warning: settled.warning };
    // Recorded before the start: a process that continues here must not turn off a machine that starts.
    const started = { at: this.#time(), tries: (disk?.tries ?? 0) + 1, ...warning };
    await this.#options.records.change(node.id, ({ boot: current }) =>
      current?.secret_hash === boot.secret_hash ? { ...off, boot: { ...current, disk: started } } : undefined,
    );
    const on = await this.#options.ensure(node, 'power on');
    return { kind: 'again', startsAgain: true, change: { ...on, boot: { ...boot, disk: started } } };
  }

  /**
   * Sets the machine to boot from disk. If the controller refuses, the work still counts and the node shows a warning.
   */
  async settle(node: NodeDocument): Promise<Settled> {
    const type = 'BootsFromDisk';
    try {
      await this.#options.bmcs.with(node, (machine) => machine.bootFromDisk());
      return { clears: type };
    } catch (error) {
      if ((node.work?.attempts ?? 0) + 1 < settleAttempts) throw error;
      const { message } = toFailure(error);
      this.#options.context.log.warn(
        { err: error, node: node.name },
        'BMC refused the disk as boot device; the node shows a warning',
      );
      return {
        warning: {
          type,
          status: 'False',
          reason: 'BmcRefused',
          message: `The machine may boot from the network or a virtual drive at its next power-on. ${message}`,
          since: this.#time(),
        },
      };
    }
  }

  #now(): number {
    return this.#options.context.now().getTime();
  }

  #time(): string {
    return this.#options.context.now().toISOString();
  }
}

/** @throws AnnealError Defect for a node without a boot. */
export function bootOf(node: NodeDocument): Boot {
  if (node.boot) return node.boot;
  throw new AnnealError('Defect', `Node ${node.name} cannot boot: its record contains no boot image.`);
}
