/**
 * The world's own books: the physical objects, the objects that each of them uses, and the requests that were executed.
 * So the checks do not rely on the core. A violation is thrown with the name of the invariant in `step.ts`.
 */
import type { RequestAction, ResourceDocument } from '../../documents.ts';
import { usesOf } from '../values.ts';

interface Physical {
  readonly stack: string;
  readonly name: string;
  /** Objects that the last request made it use, and those that a failed update may have made it use. */
  readonly uses: ReadonlySet<string>;
  /** Properties of the object, as JSON. */
  readonly applied: string;
  readonly suspended: boolean;
  readonly retained: boolean;
}

/** Asserts a rule of the simulation. @throws Error with this message */
export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

/** The objects that exist in the simulated world, by the id of their incarnation. */
export class Books {
  readonly physical = new Map<string, Physical>();
  /** Objects that were retained or abandoned: no request may touch them any more. */
  readonly released = new Set<string>();
  /** The random value that was drawn for each object. */
  readonly drawn = new Map<string, string>();
  private readonly takenOver = new Set<string>();
  private readonly made = new Map<string, number>();

  /** Records an executed request; a failed one may be executed in part. */
  apply(resource: ResourceDocument, action: RequestAction, how: { fence: number; whole: boolean }): void {
    const request = resource.request;
    if (!request) return;
    const { id } = resource;
    // An object released while it is made stays, as requested. A check in flight changes nothing.
    must(
      !this.released.has(id) || action === 'create' || action === 'check',
      `C9: ${id} was released, but its provider gets ${action}`,
    );
    const before = this.physical.get(id);
    if (action === 'create') {
      const again = resource.nested !== null || resource.type === 'Latest';
      must((this.made.get(id) ?? how.fence) === how.fence || again, `C6: ${id} is created twice`);
      this.made.set(id, how.fence);
    }
    if (action === 'delete') {
      this.physical.delete(id);
      return;
    }
    if (action === 'suspend' || action === 'resume') {
      if (before) this.physical.set(id, { ...before, suspended: action === 'suspend' });
      return;
    }
    if (action === 'check' || action === 'snapshot') return;
    const uses = usesOf(request.properties);
    this.physical.set(id, {
      stack: resource.stack_id,
      name: resource.name,
      uses: new Set(how.whole ? uses : [...(before?.uses ?? []), ...uses]),
      applied: JSON.stringify(request.properties),
      suspended: before?.suspended ?? false,
      retained: resource.deletion_policy === 'Retain',
    });
  }

  /** Checks a request before it is sent. */
  mayBeSent(
    resource: ResourceDocument,
    { complete, stays, deleteFirst }: Record<'complete' | 'stays', (id: string) => boolean> & { deleteFirst: boolean },
  ): void {
    const request = resource.request;
    if (!request) return;
    must(!this.released.has(resource.id), `C9: ${resource.id} was released, but is sent ${request.action}`);
    must(
      !resource.external || request.action === 'check',
      `C9: ${resource.id} is external, but is sent ${request.action}`,
    );
    if (request.action === 'delete') {
      must(resource.deletion_policy !== 'Retain', `C9: ${resource.id} must be retained, but is deleted`);
      for (const [id, { uses }] of this.physical) {
        const used =
          !deleteFirst && id !== resource.id && uses.has(resource.id) && !this.released.has(id) && !stays(id);
        must(!used, `C2: ${resource.id} is deleted while ${id} uses it`);
      }
      return;
    }
    if (request.action !== 'create' && request.action !== 'update') return;
    const made = Object.keys(resource.properties).length > 0 || resource.nested !== null;
    must(request.action === 'create' || made, `C4: ${resource.id} is updated, but its creation never completed`);
    if (deleteFirst && request.action === 'create') {
      for (const [id, { stack, name, retained }] of this.physical) {
        const another = stack === resource.stack_id && name === resource.name && id !== resource.id;
        must(!another || retained || this.released.has(id), `C7: ${resource.id} is created while ${id} has its place`);
      }
    }
    const before = this.physical.get(resource.id)?.applied;
    if (request.action === 'update' && before !== undefined) {
      const found = JSON.parse(before) as Record<string, unknown>;
      for (const [name, value] of Object.entries(request.properties)) {
        const named = request.changed.includes(name) || JSON.stringify(found[name]) === JSON.stringify(value);
        must(named, `${resource.id} is updated, but its changed properties omit ${name}`);
      }
    }
    const awaited = new Set(request.after?.map(({ id }) => id));
    for (const id of request.requires)
      must(complete(id) || awaited.has(id), `C1: ${resource.id} uses ${id}, which is not complete`);
  }

  /** Records an adopted object, which existed before. */
  takeOver({ id, stack_id, name, deletion_policy, ...resource }: ResourceDocument): void {
    if (this.takenOver.has(id)) return;
    this.takenOver.add(id);
    const { properties } = resource.request ?? resource;
    const uses = new Set(usesOf(properties));
    const applied = JSON.stringify(properties);
    const retained = deletion_policy === 'Retain';
    this.physical.set(id, { stack: stack_id, name, uses, applied, suspended: false, retained });
  }

  /** Checks that the object of a complete resource matches its document. */
  agrees(resource: ResourceDocument): void {
    const { id, status, action, request, external, skipped, attempted, drift } = resource;
    if (status !== 'COMPLETE' || action === 'DELETE' || action === 'INIT' || request || external) return;
    if (skipped !== null || attempted !== null || drift.length > 0 || action === 'ADOPT') return;
    const found = this.physical.get(id);
    must(found !== undefined, `C6: ${id} is ${action}_COMPLETE, but its object does not exist`);
    if (action !== 'CREATE' && action !== 'UPDATE') return;
    must(
      found.applied === JSON.stringify(resource.properties),
      `${id} is complete, but its object has different properties`,
    );
  }

  /** Checks that each object has a document. A retained one may be made and released in one step, with no document. */
  allKnown(stack: string, known: ReadonlyMap<string, unknown>): void {
    for (const [id, { stack: owner, retained }] of this.physical) {
      if (owner !== stack || known.has(id)) continue;
      must(this.released.has(id) || retained, `C6: the object of ${id} exists, but has no document`);
      this.released.add(id);
    }
  }

  countOf(stack: string): number {
    let count = 0;
    for (const [id, { stack: owner, retained }] of this.physical) {
      if (owner === stack && !this.released.has(id) && !retained) count += 1;
    }
    return count;
  }
}
