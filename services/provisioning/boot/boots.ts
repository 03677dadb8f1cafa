/**
 * Requests of booting machines: they fetch a boot document, exchange their secret, report the end of a cleaning, and
 * ask for work.
 *
 * B1 A fetched document holds no secret: only the exchange returns the seed.
 * B2 A secret is exchanged after the command to power on, by one machine, until its agent asks for work or it reports.
 *    The machine may repeat the exchange with its key, because it or this process may die between exchange and use.
 * B3 A refused exchange with the right secret causes an event and a condition of the node, because another program has
 *    the secret. The node's own machine is no other program: it lost power, or its restart loaded the ramdisk again.
 */
import { isObject } from '@anneal/contracts/json.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { HostEventData } from '@anneal/contracts/events.ts';
import type { Death } from '@anneal/bus/port.ts';
import { on, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { bootReport, type BootDocument, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eraseModes } from '@anneal/contracts/calls/node-fields.ts';
import { type ImageView } from '@anneal/contracts/calls/images.ts';
import { metadataAddress } from '@anneal/runtime/secrets/host-keys.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { hashOf } from '../nodes/states/boot-steps.ts';
import { machineClaimsOf } from '../documents/identity.ts';
import { networkData } from '../servers/network-data.ts';
import { withWarning, type Boot, type BootLoad, type NodeDocument, type NodeChange } from '../documents/node.ts';
import type { NodeDriver } from '../nodes/states/driver.ts';
import { deadlineOfNextStart, move, workAfterHeartbeat } from '../nodes/states/moves.ts';
import { afterSilence } from '../documents/suspicion.ts';
import { afterHeartbeat, type SentHeartbeat } from '../documents/heartbeat.ts';
import type { NodeRecords } from '../documents/records.ts';
import { seedStates } from '../documents/states.ts';
import type { Images } from '../images/images.ts';
import { objectOf, textOf } from '../servers/document.ts';

export class Boots {
  readonly #context: ServiceContext;
  readonly #records: NodeRecords;
  readonly #driver: NodeDriver;

  readonly #images: Images;
  readonly #erase: EraseMode;

  constructor(options: {
    context: ServiceContext;
    records: NodeRecords;
    driver: NodeDriver;
    images: Images;
    /** How disks are erased, unless a node says otherwise. */
    erase: EraseMode;
  }) {
    this.#images = options.images;
    this.#erase = options.erase;
    this.#context = options.context;
    this.#records = options.records;
    this.#driver = options.driver;
  }

  async document(secret: string): Promise<BootDocument> {
    const node = await this.#records.ofSecret(hashOf(secret));
    if (!node?.boot || !seedStates[node.boot.purpose].includes(node.state)) throw unknown();
    await this.#happened(node.id, hashOf(secret), (boot) =>
      boot.fetched_at === null ? { ...boot, fetched_at: this.#now() } : undefined,
    );
    return { format: 2, purpose: node.boot.purpose, node: node.name };
  }

  /** Records how far the firmware loaded its boot file. Drops a report that the one of the end has overtaken. */
  async loaded({ secret, ...load }: { secret: string } & Omit<BootLoad, 'at'>): Promise<object> {
    const hash = hashOf(secret);
    const node = await this.#records.ofSecret(hash);
    if (!node) throw unknown();
    const changed = await this.#happened(node.id, hash, (boot) =>
      boot.exchanged_at !== null || (boot.load?.done === true && load.sent > 0 && !load.done)
        ? undefined
        : { ...boot, load: { ...load, at: this.#now() } },
    );
    if (changed) this.#driver.kick(node.id);
    return {};
  }

  /**
   * The boot of a machine that boots by PXE, where no BMC can carry its address. Other programs of that network can ask
   * too, so only a node without another way to boot is found, and only between power-on and exchange.
   * @throws AnnealError NotFound
   */
  async find(uuid: string): Promise<{ secret: string }> {
    const node = await this.#records.ofUuid(uuid.toLowerCase());
    const { boot } = node ?? {};
    const waits = node && boot?.method === 'pxe' && seedStates[boot.purpose].includes(node.state);
    const secret =
      waits && boot.commanded_at !== null && boot.exchanged_at === null && this.#context.secrets.open(boot.secret);
    if (typeof secret !== 'string') throw unknown();
    return { secret };
  }

  /** B2. @throws AnnealError Conflict when the secret is right and the exchange is not allowed. */
  async exchange({ secret, key, machine }: BootExchange): Promise<BootSeed> {
    const hash = hashOf(secret);
    const key_hash = hashOf(key);
    const found = await this.#records.ofSecret(hash);
    if (!found) throw unknown();
    let refusal: Refusal | undefined;
    let node: NodeDocument = found;
    const changed = await this.#records.change(found.id, (current) => {
      node = current;
      const { boot } = current;
      if (boot?.secret_hash !== hash) return undefined;
      refusal = refusalOf(current, boot, { key_hash, machine });
      if (refusal) return this.#refused(current, boot, refusal);
      return boot.exchanged_at === null ? { boot: { ...boot, exchanged_at: this.#now(), key_hash } } : undefined;
    });
    const { boot } = changed ?? node;
    if (boot?.secret_hash !== hash) throw unknown();
    if (refusal && changed) this.#driver.kick(node.id);
    if (refusal) throw new AnnealError('Conflict', `The boot secret of node ${node.name} was refused: ${refusal.why}.`);
    return await this.#seedOf(changed ?? node, boot);
  }

  /** The image that a machine writes now. @throws AnnealError NotFound for a token of no such machine */
  async image(token: string): Promise<{ name: string; sha256: string }> {
    const node = await this.#records.ofReportToken(hashOf(token));
    const isWriting = node?.boot?.purpose === 'deploy' && seedStates.deploy.includes(node.state);
    if (!isWriting || node.boot.report !== null) throw unknown();
    const name = textOf(this.#context.secrets.open(node.instance_info), 'image');
    const { sha256 } = await this.#images.show(name);
    return { name, sha256 };
  }

  /** Records how far a machine is with its disk, and gives it more time when it makes progress. */
  async progressed(token: string, sent: SentHeartbeat): Promise<object> {
    const hash = hashOf(token);
    const node = await this.#records.ofReportToken(hash);
    if (!node?.boot || !seedStates[node.boot.purpose].includes(node.state)) throw unknown();
    if ((node.boot.purpose === 'clean') !== (sent.phase === 'erasing') || node.boot.purpose === 'rescue')
      throw new AnnealError('InvalidRequest', `The phase "${sent.phase}" does not fit a boot to ${node.boot.purpose}.`);
    await this.#records.change(node.id, (current) => {
      const { boot } = current;
      if (boot?.token_hash !== hash || boot.report !== null || boot.answered_at !== null) return undefined;
      const { moment } = this.#driver;
      const heartbeat = afterHeartbeat(boot.heartbeat, sent, moment.now);
      return heartbeat && { boot: { ...boot, heartbeat }, ...workAfterHeartbeat(current, heartbeat, moment) };
    });
    return {};
  }

  /** The first report counts. `settled` is true when the machine that wrote its image may reboot from its disk. */
  async report(token: string, report: NonNullable<Boot['report']>): Promise<{ settled?: boolean }> {
    const hash = hashOf(token);
    const node = await this.#records.ofReportToken(hash);
    if (!node?.boot || !seedStates[node.boot.purpose].includes(node.state)) throw unknown();
    const { purpose } = node.boot;
    if (report.status !== 'failed' && report.status !== resultOf[purpose]) {
      throw new AnnealError('InvalidRequest', `The report "${report.status}" does not fit a boot to ${purpose}.`);
    }
    const answered = purpose === 'deploy' ? {} : { answered_at: this.#now() };
    const changed = await this.#records.change(node.id, (current) => {
      const { boot } = current;
      if (boot?.token_hash !== hash || boot.report !== null) return undefined;
      // The limit of its progress is over.
      const deadline = purpose === 'deploy' ? deadlineOfNextStart(current, this.#driver.moment) : undefined;
      const work = current.work && deadline !== undefined ? { ...current.work, deadline } : current.work;
      return happenedTo({ ...current, work }, { ...boot, report, ...answered });
    });
    if (changed) this.#driver.kick(node.id);
    if (report.status !== 'written') return {};
    const settled = node.boot.settled_at !== undefined;
    return { settled, ...(settled && node.boot.report?.powers_off === true && { power_off: true }) };
  }

  /** Handles the first contact of an agent: the machine is up. Ignores hosts without a node, which are not ours. */
  hostUp(): MessageRoute {
    return on(hostEvent.up, async (message: Envelope<HostEventData>) => {
      const { host_id: id, facts } = message.data;
      const node = await this.#records.ofInstance(id);
      if (!node) return;
      await this.#records.change(node.id, (current) => {
        if (current.instance_id !== id) return undefined;
        const { boot, state } = current;
        // The agent got its token in the exchange. Without one, it is that of a boot before this, whose token has ended.
        const isOfBoot = boot?.purpose === 'deploy' && boot.exchanged_at !== null && seedStates.deploy.includes(state);
        if (!isOfBoot) return { facts, silent_since: null };
        return {
          facts,
          silent_since: null,
          ...happenedTo(current, { ...boot, answered_at: boot.answered_at ?? this.#now() }),
        };
      });
      this.#driver.kick(node.id);
    });
  }

  /** Notes the silence of a host, which counts as a loss of its machine when its server ends before it is back. */
  hostSilent(): MessageRoute {
    return on(hostEvent.silent, async ({ time, data: { host_id: id } }: Envelope<HostEventData>) => {
      const node = await this.#records.ofInstance(id);
      if (!node) return;
      await this.#records.change(node.id, (current) =>
        current.instance_id === id ? afterSilence(current, time) : undefined,
      );
    });
  }

  /**
   * Fails the node when a message of its machine became a dead letter, instead of letting it wait until its deadline.
   */
  async unheard({ message, failure }: Death): Promise<void> {
    const data = isObject(message?.data) ? message.data : {};
    const { host_id: host, token } = data;
    const node =
      message?.type === hostEvent.up.type && typeof host === 'string'
        ? await this.#records.ofInstance(host)
        : message?.type === bootReport.type && typeof token === 'string'
          ? await this.#records.ofReportToken(hashOf(token))
          : undefined;
    if (!node) return;
    await this.#records.change(node.id, (current) => {
      const waits = current.boot && seedStates[current.boot.purpose].includes(current.state);
      if (!waits || current.boot.answered_at !== null) return undefined;
      return move(current, 'fail', { moment: this.#driver.moment, reason: failure.message, failure });
    });
  }

  #happened(id: string, hash: string, to: (boot: Boot) => Boot | undefined): Promise<NodeDocument | undefined> {
    return this.#records.change(id, (node) => {
      const boot = node.boot?.secret_hash === hash ? to(node.boot) : undefined;
      return boot && happenedTo(node, boot);
    });
  }

  /** B3. Reports at most once a minute, so that a program that repeats the exchange does not fill the event log. */
  #refused(node: NodeDocument, boot: Boot, { alarm, why, returned }: Refusal): NodeChange | undefined {
    const now = this.#context.now();
    if (returned) return happenedTo(node, { ...boot, returned_at: now.toISOString() });
    if (!alarm || now.getTime() - Date.parse(boot.refused_at ?? '1970-01-01') < 60_000) return undefined;
    const refused_at = now.toISOString();
    this.#context.log.warn({ node: node.name }, `exchange of a boot secret refused: ${why}`);
    return {
      ...happenedTo(node, { ...boot, refused_at }),
      warnings: withWarning(node, {
        type: 'CredentialsSafe',
        status: 'False',
        reason: 'ExchangeRefused',
        message: `An exchange of the boot secret was refused: ${why}. Another program may have the credentials of this host. To replace them: anneal host token ${node.instance_id ?? 'HOST'}.`,
        since: refused_at,
      }),
    };
  }

  async #seedOf(node: NodeDocument, boot: Boot): Promise<BootSeed> {
    const info = this.#context.secrets.open(node.instance_info);
    const host = this.#context.secrets.open(boot.host);
    const access = isObject(host) ? host : {};
    const name = boot.purpose === 'deploy' ? textOf(info, 'image') : '';
    const image = name === '' ? undefined : await this.#images.find(name);
    const { root_device: root } = node.properties;
    const network = boot.purpose === 'deploy' ? networkData(node.properties) : undefined;
    return {
      format: 1,
      purpose: boot.purpose,
      host_id: node.instance_id ?? node.id,
      hostname: textOf(info, 'name') || node.name,
      gateway_url: this.#context.gatewayUrl,
      project: textOf(info, 'project'),
      token: textOf(access, 'token'),
      requests_queue: textOf(access, 'requests_queue'),
      responses_queue: textOf(access, 'responses_queue'),
      user_data: textOf(info, 'user_data'),
      metadata: objectOf(info, 'metadata'),
      ...(typeof access['rescue_password'] === 'string' && { rescue_password: access['rescue_password'] }),
      ...(boot.purpose === 'deploy' && {
        report_token: textOf(access, 'report_token'),
        image_name: name,
        metadata_url: this.#metadataUrl(node, textOf(access, 'token')),
      }),
      ...(image && { image: this.#source(image) }),
      ...(network && { network_data: network }),
      ...(root !== undefined && { root_device: isObject(root) ? root : { unreadable: true } }),
      ...(boot.purpose === 'clean' && { erase: eraseModeOf(node, this.#erase) }),
    };
  }

  #metadataUrl({ instance_id, id }: NodeDocument, hostToken: string): string {
    return metadataAddress(this.#context.gatewayUrl, { hostId: instance_id ?? id, hostToken });
  }

  /** Where a machine fetches an image. The content that this server keeps is only for machines that write it. */
  #source({ name, url, sha256, size }: ImageView): NonNullable<BootSeed['image']> {
    if (url !== undefined) return { name, url, sha256, size };
    const here = `${this.#context.gatewayUrl.replace(/\/$/, '')}/boot/v1/image`;
    return { name, url: here, sha256, size, kept: true };
  }

  #now(): string {
    return this.#context.now().toISOString();
  }
}

/** The report that ends a boot. A deployment ends when its agent asks for work. */
const resultOf = { clean: 'cleaned', rescue: 'ready', deploy: 'written' } as const;

type EraseMode = (typeof eraseModes)[number];

const eraseModeOf = ({ properties: { erase } }: NodeDocument, fallback: EraseMode): EraseMode =>
  eraseModes.find((mode) => mode === erase) ?? fallback;

interface BootExchange {
  readonly secret: string;
  readonly key: string;
  readonly machine?: string | undefined;
}

interface Refusal {
  readonly why: string;
  /** A program other than the machine has the secret, or may have it. */
  readonly alarm: boolean;
  /** The machine itself has booted once more, and its node waits for it. */
  readonly returned?: boolean;
}

function refusalOf(
  node: NodeDocument,
  boot: Boot,
  { key_hash, machine }: { key_hash: string; machine: string | undefined },
): Refusal | undefined {
  const another = boot.key_hash !== null && boot.key_hash !== key_hash;
  const waits = seedStates[boot.purpose].includes(node.state) && boot.answered_at === null;
  // An older ramdisk does not say which machine it is. That a machine has written its disk and starts again is usual.
  const own = isOwnMachine(node, machine) || (machine === undefined && waits && boot.report?.status === 'written');
  if (another && own)
    return { why: 'its machine has booted twice with it; the BMC starts it again', alarm: false, returned: waits };
  if (another) return { why: `it was exchanged with another key at ${boot.exchanged_at}`, alarm: true };
  if (!seedStates[boot.purpose].includes(node.state)) {
    return { why: `it has expired, because the node is ${node.state}`, alarm: false };
  }
  if (boot.commanded_at === null) {
    return {
      why: 'its machine has not been powered on yet, so the request did not come from the machine',
      alarm: true,
    };
  }
  return boot.answered_at === null ? undefined : { why: `it was already used at ${boot.answered_at}`, alarm: false };
}

const isOwnMachine = ({ claims }: NodeDocument, uuid: string | undefined): boolean =>
  uuid !== undefined && machineClaimsOf(uuid).includes(claims.machine);

/** Records the progress of a boot, and makes the waiting step due at once. */
function happenedTo(node: NodeDocument, boot: Boot): NodeChange {
  return { boot, ...(node.work && { work: { ...node.work, next_at: 0 } }) };
}

const unknown = (): AnnealError =>
  new AnnealError('NotFound', 'There is nothing to boot at this address: the address is wrong or has expired.');
