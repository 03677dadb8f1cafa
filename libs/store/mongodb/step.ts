/**
 * One step of writes, sent in as few commands as possible, with the exact outcome of each.
 *
 * W1 The answer to a command is final when it reports on every operation. When it reports less (a count that is short,
 *    a lost answer), a look at the documents follows: each names the write that made it, so a writer recognises its
 *    own.
 * W2 Operations that the look shows as not done are sent again, until the deadline; then their writers get Unavailable.
 * W3 A write that another writer has overwritten before the look counts as stale: its writer reads again. It must be
 *    able to do so anyway, because it may die between the write and the answer.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AnyBulkWriteOperation, Collection as Driver } from 'mongodb';
import type { StoredBodies, StoredBody } from './bodies.ts';
import { duplicateIn, isPassing, refusedIn } from './failure.ts';
import type { Operation, OperationResult } from './operation.ts';
import type { BulkOutcome } from '../port.ts';
import { type Family, familyOf } from './plan.ts';
import type { Stored } from './stored.ts';

type Report = (operation: Operation, result: OperationResult) => void;
type Some = readonly Operation[];
/** Reports known outcomes; returns the operations to look at. */
type Send = (some: Some) => Promise<Some>;

/** Up to this number, each removal is a command, because for several in one MongoDB reports only their count. */
const fewRemovals = 4;
/** The largest number of ids in a command. */
const idsAtOnce = 2000;

const done: OperationResult = { outcome: 'done' };
const nothing: Some = [];

/** Runs one step (W1 to W3). Resolves with one result for each operation, in order. */
export async function runStep(parameters: {
  driver: Driver<Stored>;
  bodies: StoredBodies;
  operations: Some;
  /** How long to retry. */
  patienceMs: number;
  report: Report;
}): Promise<void> {
  const { driver, bodies: made, operations } = parameters;
  const deadline = performance.now() + parameters.patienceMs;
  const bodies = new Map<Operation, StoredBody>();
  const obsolete: ReturnType<StoredBodies['obsolete']> = [];
  const report: Report = (operation, result) => {
    obsolete.push(...made.obsolete(operation, bodies.get(operation) ?? { body: '' }, result));
    parameters.report(operation, result);
  };
  for (const operation of operations) {
    try {
      bodies.set(operation, await made.of(operation));
    } catch (error) {
      report(operation, { error });
    }
  }
  const step = new Step({ driver, bodies, report, deadline });
  const family = (name: Family): Operation[] => [...bodies.keys()].filter((each) => familyOf(each) === name);
  const removals = family('remove');
  await Promise.all([
    step.run(family('insert'), (some) => step.insert(some)),
    step.run(family('update'), (some) => step.update(some)),
    ...(removals.length <= fewRemovals
      ? removals.map((each) => step.run([each], () => step.remove(each)))
      : [step.run(removals, (some) => step.removeMany(some))]),
  ]);
  if (obsolete.length > 0) await made.remove(obsolete);
}

class Step {
  readonly #driver: Driver<Stored>;
  readonly #bodies: ReadonlyMap<Operation, StoredBody>;
  readonly #report: Report;
  readonly #deadline: number;

  constructor(parameters: {
    driver: Driver<Stored>;
    bodies: ReadonlyMap<Operation, StoredBody>;
    report: Report;
    deadline: number;
  }) {
    this.#driver = parameters.driver;
    this.#bodies = parameters.bodies;
    this.#report = parameters.report;
    this.#deadline = parameters.deadline;
  }

  async run(operations: Some, send: Send): Promise<void> {
    let waiting = operations;
    let unknown = nothing;
    // After a command that reported too little, one operation per command, because that answer is exact.
    let singly = false;
    while (waiting.length > 0 || unknown.length > 0) {
      try {
        if (unknown.length > 0) {
          const again = await this.#look(unknown);
          waiting = [...again, ...waiting];
          unknown = nothing;
        }
        const sent = singly ? waiting.slice(0, 1) : waiting;
        waiting = waiting.slice(sent.length);
        unknown = sent;
        unknown = sent.length > 0 ? await send(sent) : nothing;
        if (unknown.length > 0) singly = true;
      } catch (error) {
        if (!isPassing(error) || performance.now() > this.#deadline) {
          for (const operation of [...unknown, ...waiting]) this.#report(operation, { error });
          return;
        }
        await pause(20 + Math.random() * 80);
      }
    }
  }

  async insert(some: Some): Promise<Some> {
    const documents = some.map((operation) => ({ ...this.#content(operation), _id: operation.id, version: 1 }));
    try {
      await this.#driver.insertMany(documents, { ordered: false });
    } catch (error) {
      const refused = refusedIn(error);
      if (!refused) throw error;
      return this.#refused(some, refused);
    }
    return this.#done(some);
  }

  async update(some: Some): Promise<Some> {
    const [only] = some;
    try {
      const { matchedCount, upsertedCount } = await this.#driver.bulkWrite(
        some.map((operation) => this.#change(operation)),
        { ordered: false },
      );
      if (matchedCount + upsertedCount >= some.length) return this.#done(some);
    } catch (error) {
      const refusal = refusedIn(error)?.[0]?.errmsg ?? duplicateIn(error);
      if (refusal === undefined) throw error;
      if (some.length > 1 || !only) return some;
      // When two puts create one id at once, the later one replaces: a taken id is no reason to refuse it.
      if (only.kind === 'put' && refusal.includes('index: _id_')) return some;
      this.#report(only, { outcome: 'duplicate', refusal });
      return nothing;
    }
    if (some.length > 1 || !only) return some;
    this.#report(only, { outcome: (await this.#isThere(only.id)) ? 'stale' : 'absent' });
    return nothing;
  }

  async remove(operation: Operation): Promise<Some> {
    const { id, version } = operation;
    const { deletedCount } = await this.#driver.deleteOne({ _id: id, ...(version !== undefined && { version }) });
    if (deletedCount > 0) return this.#done([operation]);
    const there = version !== undefined && (await this.#isThere(id));
    this.#report(operation, { outcome: there ? 'stale' : 'absent' });
    return nothing;
  }

  /**
   * Looks first, because the answer does not show which documents existed. A document that disappears between the look
   * and the command is removed, as intended. It is not known whether another writer removed it (W3).
   */
  async removeMany(some: Some): Promise<Some> {
    const byId = await this.#find(some);
    const there = some.filter(({ id, version }) => {
      const found = byId.get(id);
      return found !== undefined && (version ?? found.version) === found.version;
    });
    const byVersion = Map.groupBy(there, ({ version }) => version);
    let removed = 0;
    for (const [version, operations] of byVersion) {
      for (let start = 0; start < operations.length; start += idsAtOnce) {
        const ids = operations.slice(start, start + idsAtOnce).map(({ id }) => id);
        const command = { _id: { $in: ids }, ...(version !== undefined && { version }) };
        removed += (await this.#driver.deleteMany(command)).deletedCount;
      }
    }
    const sent = new Set(there);
    for (const operation of some) {
      if (!sent.has(operation)) this.#report(operation, { outcome: byId.has(operation.id) ? 'stale' : 'absent' });
    }
    return removed < there.length ? there : this.#done(there);
  }

  /** W1: reports the outcomes that the documents show; returns the operations that were not done. */
  async #look(some: Some): Promise<Operation[]> {
    const byId = await this.#find(some);
    return some.filter((operation) => {
      const outcome = seen(operation, byId.get(operation.id));
      if (outcome) this.#report(operation, { outcome });
      return outcome === undefined;
    });
  }

  async #find(some: Some): Promise<Map<string, Seen>> {
    const byId = new Map<string, Seen>();
    for (let start = 0; start < some.length; start += idsAtOnce) {
      const ids = some.slice(start, start + idsAtOnce).map(({ id }) => id);
      const found = this.#driver
        .find({ _id: ids.length === 1 && ids[0] !== undefined ? ids[0] : { $in: ids } })
        .project<Seen>({ version: 1, write: 1 });
      for (const document of await found.toArray()) byId.set(document._id, document);
    }
    return byId;
  }

  async #isThere(id: string): Promise<boolean> {
    return (await this.#driver.findOne({ _id: id }, { projection: { _id: 1 } })) !== null;
  }

  #content(operation: Operation): Omit<Stored, '_id' | 'version'> {
    return { ...operation.keys, write: operation.write, ...(this.#bodies.get(operation) ?? { body: '' }) };
  }

  #change(operation: Operation): AnyBulkWriteOperation<Stored> {
    const { id, version } = operation;
    const content = this.#content(operation);
    if (version === undefined) {
      return {
        updateOne: { filter: { _id: id }, update: { $set: content, $inc: { version: 1 } }, upsert: true },
      };
    }
    return { replaceOne: { filter: { _id: id, version }, replacement: { ...content, version: version + 1 } } };
  }

  #done(some: Some): Some {
    for (const operation of some) this.#report(operation, done);
    return nothing;
  }

  #refused(some: Some, refused: readonly { index: number; errmsg?: string | undefined }[]): Some {
    const refusals = new Map(refused.map(({ index, errmsg }) => [index, errmsg ?? '']));
    some.forEach((operation, index) => {
      const refusal = refusals.get(index);
      this.#report(operation, refusal === undefined ? done : { outcome: 'duplicate', refusal });
    });
    return nothing;
  }
}

type Seen = Pick<Stored, '_id' | 'version' | 'write'>;

/** The outcome of an operation as its document shows it; undefined when it was not done and still can be. */
function seen({ kind, version, write }: Operation, found: Seen | undefined): BulkOutcome | undefined {
  if (kind !== 'remove' && found?.write === write) return 'done';
  switch (kind) {
    case 'put':
      return undefined;
    case 'insert':
      return found ? 'duplicate' : undefined;
    case 'replace':
      if (!found) return 'absent';
      return found.version === version ? undefined : 'stale';
    case 'remove':
      // Removed since the request, by this writer or another: the two cannot be distinguished.
      if (!found) return 'done';
      return version === undefined || found.version === version ? undefined : 'stale';
  }
  return kind satisfies never;
}
