/** From a node to its management controller: opened credentials, one client, one thing at a time. */
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { NodeDocument, Power } from './node-document.ts';
import { RedfishHttp, type HttpOptions } from './redfish/http.ts';
import { RedfishMachine, type Change } from './redfish/machine.ts';
import { SerialQueues } from './redfish/serial.ts';

export class Bmcs {
  readonly #http: RedfishHttp;
  readonly #secrets: Secrets;
  readonly #queues = new SerialQueues();

  constructor(options: { secrets: Secrets; http?: HttpOptions }) {
    this.#secrets = options.secrets;
    this.#http = new RedfishHttp(options.http);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** In the node's turn. A controller with several systems has a queue for each: they are dead one by one. */
  with<T>(node: NodeDocument, work: (machine: RedfishMachine) => Promise<T>): Promise<T> {
    return this.#queues.run(keyOf(node), () => work(this.#machine(node)));
  }

  isBusy(node: NodeDocument): boolean {
    return this.#queues.isBusy(keyOf(node));
  }

  /**
   * Resolves when the power has been read to be so, or `proven` gives that it was: what a BMC says of the power may be
   * late, and a machine may be off again before anyone looks. @throws AnnealError when the reset was accepted and nothing came of it.
   */
  ensurePower(
    node: NodeDocument,
    wanted: Power,
    options: { withinMs: number; change?: Change; proven?: () => Promise<boolean> },
  ): Promise<void> {
    return this.with(node, async (machine) => {
      if ((await machine.power()) === wanted) return;
      await machine.reset(options.change ?? wanted);
      if (await machine.awaitPower(wanted, options.withinMs, options.proven)) return;
      throw new AnnealError(
        'BmcRefused',
        `The BMC of node ${node.name} at ${node.address} accepted a reset to ${wanted}, but after ${options.withinMs / 1000} s the power is not so.`,
        { details: { node: node.name, url: node.address } },
      );
    });
  }

  #machine(node: NodeDocument): RedfishMachine {
    const password = this.#secrets.open(node.password);
    return new RedfishMachine(this.#http, {
      access: {
        node: node.name,
        address: node.address,
        username: node.username,
        password: typeof password === 'string' ? password : null,
      },
      systemId: node.system_id,
    });
  }
}

const keyOf = (node: NodeDocument): string => `${node.address} ${node.system_id ?? ''}`;
