/**
 * Runbooks and deploy templates: named lists of steps.
 *
 * An operator names a runbook for a cleaning or a service. It runs only on a node with one of its traits, so that steps for
 * one kind of hardware never run on another. A deploy template adds its steps to the deployment of each server that
 * requires the trait of its name.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { NodeStep } from '@anneal/contracts/calls/nodes.ts';
import type {
  runbookList,
  runbookRemove,
  runbookSet,
  runbookShow,
  RunbookView,
} from '@anneal/contracts/calls/runbooks.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError, type Collection, type Document } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { NodeDocument } from '../../documents/node.ts';

type Kind = RunbookView['kind'];
/** `key` is unique: the kind and the name. */
type RunbookDocument = Document & Readonly<RunbookView> & { readonly key: string };

/** Steps in the order in which they run: the highest priority first, and none with the priority 0. */
const inOrder = (steps: RunbookView['steps']): NodeStep[] =>
  steps
    .filter(({ priority }) => priority > 0)
    .toSorted((a, b) => b.priority - a.priority)
    .map(({ priority: _priority, ...step }) => step);

export class Runbooks {
  readonly #context: Pick<ServiceContext, 'now'>;
  readonly #collection: Collection<RunbookDocument>;

  private constructor(context: Pick<ServiceContext, 'now'>, collection: Collection<RunbookDocument>) {
    this.#context = context;
    this.#collection = collection;
  }

  static async open(context: ServiceContext): Promise<Runbooks> {
    const collection = await context.store.collection<RunbookDocument>({
      name: 'provisioning_runbooks',
      indexes: [{ fields: ['key'], unique: true }, { fields: ['kind', 'name'] }],
    });
    return new Runbooks(context, collection);
  }

  /**
   * The steps are checked when they are used, because only then the node and its driver are known.
   * @throws AnnealError AlreadyExists for a name that is taken.
   */
  async set({ id, kind, ...fields }: z.output<typeof runbookSet.data>): Promise<RunbookView> {
    const now = this.#context.now().toISOString();
    const key = `${kind} ${fields.name}`;
    try {
      const { document } = await change(this.#collection, id, (current) => ({
        ...current,
        ...fields,
        kind,
        key,
        updated_at: now,
      }));
      if (document) return viewOf(document);
      return viewOf(await this.#collection.insert({ id, kind, key, ...fields, created_at: now, updated_at: now }));
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      throw new AnnealError('AlreadyExists', `A ${kind} named ${fields.name} already exists.`, { cause: error });
    }
  }

  async list({ kind }: z.output<typeof runbookList.data>): Promise<{ runbooks: RunbookView[] }> {
    const found = await this.#collection.find({ where: { kind }, orderBy: ['name'] });
    return { runbooks: found.map(viewOf) };
  }

  async show({ kind, runbook }: z.output<typeof runbookShow.data>): Promise<RunbookView> {
    return viewOf(await this.#find(kind, runbook));
  }

  async remove({ kind, runbook }: z.output<typeof runbookRemove.data>): Promise<void> {
    for (;;) {
      const { id, version } = await this.#find(kind, runbook);
      if (await this.#collection.remove(id, version)) return;
    }
  }

  /** @throws AnnealError InvalidRequest when the runbook is not meant for the node; NotFound. */
  async stepsFor(node: NodeDocument, name: string): Promise<NodeStep[]> {
    const { steps, traits } = await this.#find('runbook', name);
    if (!traits.some((trait) => node.traits.includes(trait))) {
      const wanted =
        traits.length === 0 ? 'it has no traits yet, so it fits no node' : `it is for ${traits.join(', ')}`;
      throw new AnnealError(
        'InvalidRequest',
        `The runbook ${name} is not approved for node ${node.name}: ${wanted}; the node has ${node.traits.join(', ') || 'no traits'}.`,
      );
    }
    return inOrder(steps);
  }

  /** The steps of the templates that these traits name. */
  async stepsOfTraits(traits: readonly string[]): Promise<NodeStep[]> {
    const steps: RunbookView['steps'] = [];
    for (const trait of traits) {
      const [found] = await this.#collection.find({ where: { key: `deploy template ${trait}` }, limit: 1 });
      if (found) steps.push(...found.steps);
    }
    return inOrder(steps);
  }

  async #find(kind: Kind, idOrName: string): Promise<RunbookDocument> {
    const byId = await this.#collection.get(idOrName);
    const found =
      byId?.kind === kind
        ? byId
        : (await this.#collection.find({ where: { key: `${kind} ${idOrName}` }, limit: 1 }))[0];
    if (found) return found;
    throw new AnnealError('NotFound', `There is no ${kind} with id or name ${idOrName}.`);
  }
}

const viewOf = ({ key: _key, version: _version, ...view }: RunbookDocument): RunbookView => ({
  ...view,
  // Absent in documents of older versions.
  owner: view.owner ?? null,
  public: view.public ?? false,
});
