/** What machines say from outside: they fetch what to boot, report that they are clean, and ask for work. */
import { isObject } from '@anneal/contracts/json.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { HostEventData } from '@anneal/contracts/events.ts';
import { on, type Route } from '@anneal/bus/route.ts';
import type { BootSeed } from '@anneal/contracts/provisioning.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { objectOf, textOf } from './server-document.ts';
import type { Boot, NodeDocument } from './node-document.ts';
import type { NodeDriver } from './node-driver.ts';
import type { NodeChange, NodeRecords } from './node-records.ts';
import { seedStates } from './node-states.ts';
import { hashOf } from './node-steps.ts';

export class Boots {
  readonly #context: ServiceContext;
  readonly #records: NodeRecords;
  readonly #driver: NodeDriver;

  constructor(options: { context: ServiceContext; records: NodeRecords; driver: NodeDriver }) {
    this.#context = options.context;
    this.#records = options.records;
    this.#driver = options.driver;
  }

  async seed(token: string): Promise<BootSeed> {
    const node = await this.#booting(token);
    const fetched = await this.#happened(node.id, hashOf(token), (boot) => ({
      ...boot,
      fetched_at: boot.fetched_at ?? this.#now(),
    }));
    return this.#seedOf(fetched ?? node);
  }

  async report(token: string, report: NonNullable<Boot['report']>): Promise<void> {
    const node = await this.#booting(token);
    if (node.boot?.purpose !== 'clean') throw unknown();
    await this.#happened(node.id, hashOf(token), (boot) => ({
      ...boot,
      report: boot.report ?? report,
      answered_at: boot.answered_at ?? this.#now(),
    }));
    this.#driver.kick(node.id);
  }

  /** Its agent asks for work: the machine is up. Servers that were given back meanwhile are none of ours. */
  hostUp(): Route {
    return on(hostEvent.up, async (message: Envelope<HostEventData>) => {
      const { host_id: id, facts } = message.data;
      const node = await this.#records.ofInstance(id);
      if (!node) return;
      await this.#records.change(node.id, (current) => {
        if (current.instance_id !== id) return undefined;
        if (current.boot?.purpose !== 'deploy' || !seedStates.deploy.includes(current.state)) return { facts };
        return {
          facts,
          ...happenedTo(current, { ...current.boot, answered_at: current.boot.answered_at ?? this.#now() }),
        };
      });
      this.#driver.kick(node.id);
    });
  }

  /** @throws AnnealError NotFound for a secret that is wrong, or a node that is not to boot: an active one gets nothing. */
  async #booting(token: string): Promise<NodeDocument> {
    const node = await this.#records.ofSecret(hashOf(token));
    if (!node?.boot || !seedStates[node.boot.purpose].includes(node.state)) throw unknown();
    return node;
  }

  #happened(id: string, hash: string, to: (boot: Boot) => Boot): Promise<NodeDocument | undefined> {
    return this.#records.change(id, (node) =>
      node.boot?.secret_hash === hash ? happenedTo(node, to(node.boot)) : undefined,
    );
  }

  #seedOf(node: NodeDocument): BootSeed {
    const { boot } = node;
    const info = this.#context.secrets.open(node.instance_info);
    const host = boot ? this.#context.secrets.open(boot.host) : null;
    const access = isObject(host) ? host : {};
    return {
      format: 1,
      purpose: boot?.purpose ?? 'deploy',
      host_id: node.instance_id ?? node.id,
      hostname: textOf(info, 'name') || node.name,
      gateway_url: this.#context.gatewayUrl,
      project: textOf(info, 'project'),
      token: textOf(access, 'token'),
      requests_queue: textOf(access, 'requests_queue'),
      responses_queue: textOf(access, 'responses_queue'),
      user_data: textOf(info, 'user_data'),
      metadata: objectOf(info, 'metadata'),
    };
  }

  #now(): string {
    return this.#context.now().toISOString();
  }
}

/** Whoever waits for it need not wait for its time. */
function happenedTo(node: NodeDocument, boot: Boot): NodeChange {
  return { boot, ...(node.work && { work: { ...node.work, next_at: 0 } }) };
}

const unknown = (): AnnealError =>
  new AnnealError('NotFound', 'There is nothing to boot here: the address is wrong, or its time is over.');
