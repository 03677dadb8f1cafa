/**
 * The quotas of projects in one service. A limit is the one that an administrator set for the project, or else that of
 * the service's settings.
 *
 * Q1 A limit is read from the store, so that a change counts at every replica from its next read on.
 * Q2 A limit below what a project uses removes nothing, and refuses only more.
 */
import { answer, type Route } from '@anneal/bus/consume/route.ts';
import { quotaSet, quotaShow, type QuotaName, type QuotaView } from '@anneal/contracts/calls/quotas.ts';
import { change, insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { ServiceContext } from './service.ts';

/** A limit, and where an operator changes it. */
export interface QuotaLimit {
  readonly most: number;
  /** The name of a setting, or what else sets the limit. */
  readonly setting: string;
}

/** The limits that an administrator set for the project with this id. */
interface QuotaDocument extends Document {
  readonly limits: Partial<Record<QuotaName, number>>;
}

/** The quotas of the projects in one service. Safe for several replicas: each change is a compare-and-set. */
export class ProjectQuotas<N extends QuotaName> {
  readonly #documents: Collection<QuotaDocument>;
  readonly #defaults: Readonly<Record<N, QuotaLimit>>;

  private constructor(documents: Collection<QuotaDocument>, defaults: Readonly<Record<N, QuotaLimit>>) {
    this.#documents = documents;
    this.#defaults = defaults;
  }

  /** Opens the collection `<service>_quotas`. */
  static async open<N extends QuotaName>(
    store: Store,
    service: string,
    defaults: Readonly<Record<N, QuotaLimit>>,
  ): Promise<ProjectQuotas<N>> {
    return new ProjectQuotas(
      await store.collection<QuotaDocument>({ name: `${service}_quotas`, indexes: [] }),
      defaults,
    );
  }

  /** The limit of a project now. */
  async limitOf(name: N, project: string): Promise<QuotaLimit> {
    const most = (await this.#documents.get(project))?.limits[name];
    return most === undefined ? this.#defaults[name] : { most, setting: 'its quota, see `anneal project quota`' };
  }

  /** The routes for {@link quotaShow} and {@link quotaSet}. `used` counts what a project has now. */
  routes(
    context: ServiceContext,
    used: Readonly<Record<N, (project: string) => Promise<number>>>,
    changed: (project: string) => void = () => undefined,
  ): Route[] {
    const names = Object.keys(this.#defaults) as N[];
    const show = async (project: string): Promise<{ quotas: QuotaView[] }> => ({
      quotas: await Promise.all(
        names.map(async (name) => ({
          name,
          limit: (await this.limitOf(name, project)).most,
          default: this.#defaults[name].most,
          used: await used[name](project),
        })),
      ),
    });
    return [
      answer(context, quotaShow, ({ data }) => show(data.project)),
      answer(context, quotaSet, async ({ data: { project, limits: asked } }) => {
        await insertOnce(this.#documents, { id: project, limits: {} });
        await change(this.#documents, project, ({ limits: before, ...document }) => {
          const limits = { ...before };
          for (const name of names) {
            const most = asked[name];
            if (most === null) delete limits[name];
            else if (most !== undefined) limits[name] = most;
          }
          return { ...document, limits };
        });
        changed(project);
        return show(project);
      }),
    ];
  }
}
