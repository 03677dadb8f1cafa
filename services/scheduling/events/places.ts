/** Where stacks are, for their events and requests. */
import { noPlace, placeWithin, type TreePlace } from '@anneal/contracts/origin.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Collection } from '@anneal/store/port.ts';

type Located = Pick<StackDocument, 'id' | 'name' | 'root' | 'tags' | 'parent'>;

/** Another process may change the tags of a root. They are read again after this time. */
const tagsMs = 1_000;
const mostRoots = 10_000;

/**
 * Knows the place of each stack. A nested stack keeps its place with the latest request of its parent stack, so only the
 * tags of its root are read: at most once a second for each root, however many nested stacks it has.
 */
export class TreePlaces {
  readonly #stacks: Pick<Collection<StackDocument>, 'get'>;
  readonly #now: () => number;
  readonly #tags = new Map<string, { readonly tags: Promise<readonly string[] | undefined>; readonly until: number }>();

  constructor(stacks: Pick<Collection<StackDocument>, 'get'>, now: () => number) {
    this.#stacks = stacks;
    this.#now = now;
  }

  /** Notes the tags of a root that this process has changed. */
  note({ id, root, tags }: Located): void {
    if (id === root && this.#tags.has(id)) this.#keep(id, Promise.resolve(tags));
  }

  async of(stack: Located): Promise<TreePlace> {
    if (stack.id === stack.root || !stack.parent) return placeOfRoot(stack);
    const place = stack.parent.place ?? (await this.#walk(stack));
    const rootId = place.root?.stack_id;
    const tags = rootId === undefined ? undefined : await this.#tagsOf(rootId);
    return tags ? { ...place, tags: [...tags] } : place;
  }

  /** Finds the place of a stack whose parent stack has not sent it since an older version ran. */
  async #walk({ parent }: Located): Promise<TreePlace> {
    const around = parent ? await this.#stacks.get(parent.stack_id) : undefined;
    return around && parent ? placeWithin(await this.of(around), parent.resource_name) : noPlace;
  }

  #tagsOf(root: string): Promise<readonly string[] | undefined> {
    const known = this.#tags.get(root);
    const now = this.#now();
    if (known && now < known.until && now >= known.until - tagsMs) return known.tags;
    const tags = this.#stacks.get(root).then((found) => found?.tags);
    this.#keep(root, tags);
    tags.catch(() => this.#tags.delete(root));
    return tags;
  }

  #keep(root: string, tags: Promise<readonly string[] | undefined>): void {
    this.#tags.delete(root);
    this.#tags.set(root, { tags, until: this.#now() + tagsMs });
    if (this.#tags.size <= mostRoots) return;
    const [oldest] = this.#tags.keys();
    if (oldest !== undefined) this.#tags.delete(oldest);
  }
}

const placeOfRoot = ({ id, name, tags }: Located): TreePlace => ({
  root: { stack_id: id, stack_name: name },
  path: '',
  tags: [...tags],
});
