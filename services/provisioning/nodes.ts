/** Questions about nodes, and what people tell them. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type {
  nodeEnrol,
  nodeList,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  NodeView,
} from '@anneal/contracts/provisioning.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { DuplicateError, type Draft } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { nodeView, type NodeDocument } from './node-document.ts';
import type { NodeDriver } from './node-driver.ts';
import { changePower, move } from './node-moves.ts';
import type { NodeRecords } from './node-records.ts';
import { removableStates } from './node-states.ts';

type Question<T extends { data: z.ZodType }> = z.output<T['data']>;

export class Nodes {
  readonly #context: ServiceContext;
  readonly #records: NodeRecords;
  readonly #driver: NodeDriver;

  constructor(options: { context: ServiceContext; records: NodeRecords; driver: NodeDriver }) {
    this.#context = options.context;
    this.#records = options.records;
    this.#driver = options.driver;
  }

  async enrol(question: Question<typeof nodeEnrol>): Promise<NodeView> {
    const known = await this.#records.get(question.id);
    // The asker chose the id: this is the same question again.
    if (known) return nodeView(known);
    const { driver_info: info } = question;
    const now = this.#context.now().toISOString();
    const draft: Draft<NodeDocument> = {
      id: question.id,
      name: question.name,
      driver: question.driver,
      address: info.redfish_address.replace(/\/+$/, ''),
      system_id: info.redfish_system_id ?? null,
      username: info.redfish_username ?? null,
      password: info.redfish_password === undefined ? null : this.#context.secrets.seal(info.redfish_password),
      resource_class: question.resource_class,
      traits: question.traits,
      properties: {},
      state: 'enroll',
      target: null,
      power: null,
      power_target: null,
      instance_id: null,
      instance_info: {},
      facts: {},
      maintenance: false,
      maintenance_reason: null,
      fault: null,
      fault_since: null,
      work: null,
      boot: null,
      poll: { failures: 0, reading: null },
      reason: 'enrolled',
      last_error: null,
      created_at: now,
      updated_at: now,
      provision_updated_at: now,
      outbox: [],
    };
    let node: NodeDocument;
    try {
      node = await this.#records.insert(draft);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      const again = await this.#records.get(question.id);
      if (again) return nodeView(again);
      throw new AnnealError('AlreadyExists', `There is a node named ${question.name} already.`, { cause: error });
    }
    if (!question.provide) return nodeView(node);
    return nodeView(
      await this.#driver.tell(node.id, 'manage', {
        reason: 'it is to become available',
        change: { target: 'available' },
      }),
    );
  }

  async list(question: Question<typeof nodeList>): Promise<{ nodes: NodeView[] }> {
    const { provision_state: state, limit = 1000, marker } = question;
    const after = marker === undefined ? undefined : (await this.#find(marker)).name;
    const nodes = await this.#records.collection.find({
      where: { ...(state !== undefined && { state }), ...(after !== undefined && { name: { gt: after } }) },
      orderBy: ['name'],
      limit,
    });
    return { nodes: nodes.map(nodeView) };
  }

  async show(idOrName: string): Promise<NodeView> {
    return nodeView(await this.#find(idOrName));
  }

  async remove(idOrName: string): Promise<void> {
    for (;;) {
      const node = await this.#find(idOrName);
      if (!removableStates.includes(node.state) || node.instance_id !== null) {
        throw new AnnealError(
          'Conflict',
          `Node ${node.name} is ${node.state}; it can be removed when it is ${removableStates.join(', ')}.`,
        );
      }
      if (await this.#records.remove(node)) return;
    }
  }

  async power(question: Question<typeof nodePower>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const told = await this.#records.change(id, (node) => {
      if (node.work && node.work.step !== 'change power') {
        throw new AnnealError(
          'Conflict',
          `Node ${node.name} is ${node.state} (${node.work.step}); its power is changed by that work now.`,
        );
      }
      return changePower(question.target, this.#driver.moment);
    });
    if (!told) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    this.#driver.kick(id);
    return nodeView(told);
  }

  async provision(question: Question<typeof nodeProvision>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const verb = question.target;
    const told = await this.#records.change(id, (node) => {
      if (verb === 'abort' && node.work?.step === 'change power') return { work: null, power_target: null };
      const cleanFirst =
        verb === 'provide' && this.#driver.moment.budgets.cleanOnProvide && node.state === 'manageable';
      // Cleaning leads to where the node was going: a manageable one back, one that is provided on.
      const target =
        verb === 'provide' || node.state === 'clean failed'
          ? 'available'
          : verb === 'clean'
            ? 'manageable'
            : verb === 'deleted'
              ? 'available'
              : null;
      return move(node, cleanFirst ? 'clean' : verb, {
        moment: this.#driver.moment,
        reason: `told "${verb}"`,
        change: { target },
      });
    });
    if (!told) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    this.#driver.kick(id);
    return nodeView(told);
  }

  async maintenance(question: Question<typeof nodeMaintenance>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const { maintenance, reason } = question;
    const told = await this.#records.change(id, () => ({
      maintenance,
      maintenance_reason: maintenance ? (reason ?? null) : null,
    }));
    if (!told) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    return nodeView(told);
  }

  async #find(idOrName: string): Promise<NodeDocument> {
    const node = await this.#records.find(idOrName);
    if (!node) throw new AnnealError('NotFound', `There is no node with the id or name ${idOrName}.`);
    return node;
  }
}
