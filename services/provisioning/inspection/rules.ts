/** The inspection rules that operators made, in the store. */
import type {
  InspectionRule,
  inspectionRuleChange,
  inspectionRuleCreate,
} from '@anneal/contracts/calls/inspection-rules.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError, type Collection, type Document } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { NodeChange, NodeDocument } from '../documents/node.ts';
import { afterRules, requireInspectionRule } from './evaluate.ts';

type RuleDocument = Document & Readonly<InspectionRule>;

/** A rule more costs every inspection. */
const mostRules = 1000;

export class InspectionRules {
  readonly #context: Pick<ServiceContext, 'now' | 'log'>;
  readonly #collection: Collection<RuleDocument>;

  private constructor(context: Pick<ServiceContext, 'now' | 'log'>, collection: Collection<RuleDocument>) {
    this.#context = context;
    this.#collection = collection;
  }

  static async open(context: ServiceContext): Promise<InspectionRules> {
    const collection = await context.store.collection<RuleDocument>({
      name: 'provisioning_inspection_rules',
      indexes: [],
    });
    return new InspectionRules(context, collection);
  }

  /** @throws AnnealError InvalidRequest, AlreadyExists for an id that is taken, QuotaExceeded */
  async create(rule: z.output<typeof inspectionRuleCreate.data>): Promise<InspectionRule> {
    requireInspectionRule(rule);
    if ((await this.#collection.count({})) >= mostRules) {
      const message = `Cannot create an inspection rule: there are ${mostRules} of them, which is the limit. Delete some first.`;
      throw new AnnealError('QuotaExceeded', message);
    }
    try {
      const created = { ...rule, created_at: this.#now(), updated_at: null };
      return viewOf(await this.#collection.insert(created));
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      throw new AnnealError('AlreadyExists', `An inspection rule with the id ${rule.id} already exists.`, {
        cause: error,
      });
    }
  }

  /** @throws AnnealError InvalidRequest, NotFound */
  async change({ id, ...fields }: z.output<typeof inspectionRuleChange.data>): Promise<InspectionRule> {
    requireInspectionRule(fields);
    const { document } = await change(this.#collection, id, (known) => {
      if (known.sensitive && !fields.sensitive)
        throw new AnnealError('InvalidRequest', `The inspection rule ${id} stays sensitive. Create another one.`);
      return { ...known, ...fields, updated_at: this.#now() };
    });
    if (!document) throw missing(id);
    return viewOf(document);
  }

  /** In the order in which they run: the highest priority first, then the oldest. */
  async list(): Promise<InspectionRule[]> {
    const found = await this.#collection.find({ where: {} });
    return found
      .map(viewOf)
      .toSorted(
        (a, b) => b.priority - a.priority || a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id),
      );
  }

  /** @throws AnnealError NotFound */
  async show(id: string): Promise<InspectionRule> {
    const found = await this.#collection.get(id);
    if (!found) throw missing(id);
    return viewOf(found);
  }

  /** @throws AnnealError NotFound */
  async remove(id?: string): Promise<void> {
    const ids = id === undefined ? (await this.list()).map((rule) => rule.id) : [(await this.show(id)).id];
    await this.#collection.bulk(ids.map((each) => ({ kind: 'remove', id: each })));
  }

  /** The change of a node after an inspection. @throws AnnealError when a rule fails the inspection */
  async apply(node: NodeDocument, properties: JsonObject): Promise<NodeChange> {
    const { change: changed, logs } = afterRules(node, properties, await this.list());
    for (const { level, message } of logs) this.#context.log[level]({ node: node.name }, `inspection rule: ${message}`);
    return changed;
  }

  #now(): string {
    return this.#context.now().toISOString();
  }
}

const viewOf = ({ version: _version, ...view }: RuleDocument): InspectionRule => view;

const missing = (id: string): AnnealError => new AnnealError('NotFound', `There is no inspection rule with id ${id}.`);
