/**
 * The quotas of projects in one service. A limit is the one that an administrator set for the project, or else that of
 * the service's settings.
 *
 * Q1 A limit is read from the store, so that a change counts at every replica from its next read on.
 * Q2 A limit below what a project uses removes nothing, and refuses only more.
 * Q3 Simultaneous admissions together never exceed a limit, whatever the number of replicas. Each one announces itself in
 *    a document, over the version that it read before it counted. So an admission that it did not count and that is not
 *    announced there makes the write fail, and it counts again. At the limit it waits for the announced ones to end.
 *    Replicas store one at a time. So one that is as far from its limit as `roomy` says, which is more than there can be
 *    replicas, needs no announcement.
 * Q4 The announcement of a replica that died is removed once another one has waited for it long enough. Only a replica
 *    that stands still for that long between announcing and storing can exceed a limit.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { quotaSet, quotaShow, type QuotaName, type QuotaView } from '@anneal/contracts/calls/quotas.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { change, insertOnce, writeOver } from '@anneal/store/change.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { Serial } from '../work/serial.ts';
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

/** The admissions to one quota of a project that have counted and not stored yet: how many each adds, by its id. */
interface AdmissionsDocument extends Document {
  readonly holds: Readonly<Record<string, number>>;
}

/** The addition to a project. */
export interface Admission {
  /** How many. */
  readonly wanted: number;
  /** Counts what is stored now. */
  readonly count: () => Promise<number>;
  readonly refusal: (found: { there: number; limit: QuotaLimit }) => AnnealError;
  /** So far from the limit it need not announce itself (Q3). Absent: it always does. Each addition is then 1. */
  readonly roomy?: number;
}

/** Admits what one project adds to one quota: {@link ProjectQuotas.admit}. */
export type Admit = <T>(project: string, admission: Admission, store: () => Promise<T>) => Promise<T>;

/** An admission takes some milliseconds, so a hold that another one has seen for that long has no owner. */
const deadMs = 5_000;
/** The mean pause before an admission at the limit looks whether the announced ones have ended. */
const pauseMs = 20;

/** The quotas of the projects in one service. Safe for several replicas: each change is a compare-and-set. */
export class ProjectQuotas<N extends QuotaName> {
  readonly #documents: Collection<QuotaDocument>;
  readonly #admissions: Collection<AdmissionsDocument>;
  readonly #serial = new Serial();
  readonly #defaults: Readonly<Record<N, QuotaLimit>>;

  private constructor(
    { documents, admissions }: { documents: Collection<QuotaDocument>; admissions: Collection<AdmissionsDocument> },
    defaults: Readonly<Record<N, QuotaLimit>>,
  ) {
    this.#documents = documents;
    this.#admissions = admissions;
    this.#defaults = defaults;
  }

  /** Opens the collections `<service>_quotas` and `<service>_admissions`. */
  static async open<N extends QuotaName>(
    store: Store,
    service: string,
    defaults: Readonly<Record<N, QuotaLimit>>,
  ): Promise<ProjectQuotas<N>> {
    const [documents, admissions] = await Promise.all([
      store.collection<QuotaDocument>({ name: `${service}_quotas`, indexes: [] }),
      store.collection<AdmissionsDocument>({ name: `${service}_admissions`, indexes: [] }),
    ]);
    return new ProjectQuotas({ documents, admissions }, defaults);
  }

  /** The limit of a project now. */
  async limitOf(name: N, project: string): Promise<QuotaLimit> {
    const most = (await this.#documents.get(project))?.limits[name];
    return most === undefined ? this.#defaults[name] : { most, setting: 'its quota, see `anneal project quota`' };
  }

  /** {@link admit} for one quota. */
  admissionsTo(name: N): Admit {
    return (project, admission, store) => this.admit({ name, project }, admission, store);
  }

  /**
   * Stores what a project adds within its quota (Q3). `store` may run once only.
   * @throws AnnealError the refusal; whatever `store` throws
   */
  async admit<T>(
    { name, project }: { name: N; project: string },
    admission: Admission,
    store: () => Promise<T>,
  ): Promise<T> {
    const id = `${name} ${project}`;
    // One at a time in this process, because only one of several attempts on a version succeeds.
    return this.#serial.run(id, async () => {
      const hold = randomUUID();
      if (!(await this.#announce({ id, name, project, hold }, admission))) return store();
      try {
        return await store();
      } finally {
        await change(this.#admissions, id, ({ holds: { [hold]: _ended, ...holds }, ...document }) => ({
          ...document,
          holds,
        }));
      }
    });
  }

  /** False when it has so much room that it need not announce itself. @throws AnnealError the refusal */
  async #announce(
    { id, name, project, hold }: { id: string; name: N; project: string; hold: string },
    { wanted, count, refusal, roomy }: Admission,
  ): Promise<boolean> {
    const seen = new Map<string, number>();
    for (;;) {
      const before = await this.#admissions.get(id);
      // After the document: an admission that ends in between changes the version.
      const [there, limit] = await Promise.all([count(), this.limitOf(name, project)]);
      if (there + wanted > limit.most) throw refusal({ there, limit });
      if (roomy !== undefined && there + wanted + roomy <= limit.most) return false;
      const now = performance.now();
      const holds = Object.entries(before?.holds ?? {}).filter(([other]) => {
        const since = seen.get(other) ?? now;
        seen.set(other, since);
        return now - since < deadMs;
      });
      const held = holds.reduce((total, [, each]) => total + each, 0);
      if (there + held + wanted <= limit.most) {
        const draft = { id, holds: { ...Object.fromEntries(holds), [hold]: wanted } };
        if (await writeOver(this.#admissions, draft, before)) return true;
      } else {
        await delay(pauseMs * (0.5 + Math.random()));
      }
    }
  }

  /** The routes for {@link quotaShow} and {@link quotaSet}. `used` counts what a project has now. */
  routes(
    context: ServiceContext,
    used: Readonly<Record<N, (project: string) => Promise<number>>>,
    changed: (project: string) => void = () => undefined,
  ): MessageRoute[] {
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
