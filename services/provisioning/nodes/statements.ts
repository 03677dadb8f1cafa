/** Statements of people about machines that cannot answer for themselves. */
import type { z } from 'zod';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { nodeClearSuspect, nodeConfirmOff, NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { bmcHealth } from '../bmc/health.ts';
import type { Bmcs } from '../bmcs.ts';
import type { NodeChange, NodeDocument, OffStatement } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { clearedSuspicion } from '../documents/suspicion.ts';
import { askedBy } from './asked-by.ts';
import { readPower } from './fencing.ts';
import type { NodeDriver } from './states/driver.ts';
import type { ServerHosts } from './states/hosts.ts';
import { move } from './states/moves.ts';
import { UnwantedStep } from './states/step-outcome.ts';

export interface StatementsParts {
  readonly context: Pick<ServiceContext, 'now'>;
  readonly records: NodeRecords;
  readonly driver: NodeDriver;
  readonly bmcs: Bmcs;
  readonly hosts: Pick<ServerHosts, 'show'>;
  /** Makes a server look at its node at once. */
  readonly wake: (server: string) => void;
  /** Makes the servers that wait for a node look again. */
  readonly wakeWaiting: () => void;
  readonly view: (node: NodeDocument) => NodeView;
}

export class Statements {
  readonly #parts: StatementsParts;

  constructor(parts: StatementsParts) {
    this.#parts = parts;
  }

  /**
   * Records that a person takes the machine for off, so that what waits for the proof goes on.
   * @throws AnnealError Conflict while the BMC says that the machine is on.
   */
  async confirmOff({
    node: named,
    reason,
    occasion,
  }: z.output<typeof nodeConfirmOff.data>): Promise<z.output<(typeof nodeConfirmOff)['answer']>> {
    const { context, records, driver, bmcs, wake, view } = this.#parts;
    const node = await this.#find(named);
    // A step that waits for the BMC repeats after the reading, and does not delay it.
    bmcs.cut(node.id, new UnwantedStep());
    if ((await readPower(bmcs, node)) === 'power on') throw saysOn(node);
    const warning = await this.#contrary(node);
    const by = occasion?.actor.name ?? 'a person';
    const confirmed: OffStatement = { at: context.now().toISOString(), by, reason };
    const changed = await records.change(node.id, (current): NodeChange => {
      const change: NodeChange = { confirmed_off: confirmed, ...askedBy(current, occasion) };
      if (current.state === 'error')
        return move(current, 'deleted', {
          moment: driver.moment,
          reason: `${by} confirmed that it is off: ${reason}`,
          change: { ...change, target: 'available' },
        });
      return current.work ? { ...change, work: { ...current.work, next_at: 0 } } : change;
    });
    if (!changed) throw notThere(named);
    driver.cut(node.id);
    if (changed.instance_id !== null) wake(changed.instance_id);
    return { node: view(changed), warning };
  }

  /** Forgets the losses of the machine, because a person has looked at it. */
  async clearSuspect({ node: named, occasion }: z.output<typeof nodeClearSuspect.data>): Promise<NodeView> {
    const { records, wakeWaiting, view } = this.#parts;
    const { id } = await this.#find(named);
    const changed = await records.change(id, (current) => ({ ...clearedSuspicion, ...askedBy(current, occasion) }));
    if (!changed) throw notThere(named);
    wakeWaiting();
    return view(changed);
  }

  /** The sign that the machine runs: its host asked for work after its BMC was last heard. */
  async #contrary(node: NodeDocument): Promise<string | null> {
    const { hosts, bmcs } = this.#parts;
    const { project } = node.instance_info;
    if (node.instance_id === null || typeof project !== 'string') return null;
    const host = await hosts.show(node.instance_id, project).catch(ignoreNotFound);
    const { last_contact: heard } = bmcHealth(node, bmcs.contactOf(node.id));
    const asked = host?.last_seen_at ?? null;
    if (!host || asked === null || (heard !== null && asked <= heard)) return null;
    const since = heard === null ? 'its BMC has never answered' : `its BMC was last heard at ${heard}`;
    return `Host ${host.name} asked for work at ${asked}, and ${since}. If the machine of node ${node.name} still runs, two machines may run as one host: disconnect it.`;
  }

  async #find(idOrName: string): Promise<NodeDocument> {
    const node = await this.#parts.records.find(idOrName);
    if (!node) throw notThere(idOrName);
    return node;
  }
}

const notThere = (node: string): AnnealError =>
  new AnnealError('NotFound', `There is no node with id or name ${node}.`);

const saysOn = ({ name }: NodeDocument): AnnealError =>
  new AnnealError(
    'Conflict',
    `Cannot confirm that node ${name} is off, because its BMC says that it is on. To turn it off: anneal node power ${name} off.`,
    { details: { node: name } },
  );
