/**
 * The items of a large task in pages, each a document of its own, so that the end of an item writes its page and not all
 * items. The engine sees whole tasks; only the stored form has pages.
 *
 * G1 A page is written when one of its items is another object than before the step. Steps never change an item in place.
 * G2 The task names the version of each page, so a repeat of a record writes a page over exactly the version it was made
 *    from.
 * G3 A task that once had pages keeps them: a later attempt with fewer items writes over them.
 */
import type { TaskDocument, TaskItem } from './documents.ts';

/** Items in one page. A task with at most so many items has no pages. */
export const itemsPerPage = 20;

/** Some items of a task. */
export interface ItemPage {
  readonly id: string;
  readonly version: number;
  readonly execution_id: string;
  readonly items: readonly TaskItem[];
}

/** The id of a page. It is the same in every attempt. */
export const pageId = (task: string, page: number): string => `${task}.items.${page}`;

/** The most items that a task can have had in any attempt. */
export const mostItemsOf = ({ items, paged }: TaskDocument): number =>
  Math.max(items.length, paged?.items ?? 0, (paged?.versions.length ?? 0) * itemsPerPage);

/** The items of a stored task that have ended, and all of them. */
export function itemCounts(task: TaskDocument): { ended: number; total: number } {
  if (task.paged && task.items.length === 0) return { ended: task.paged.ended, total: task.paged.items };
  return { ended: endedOf(task.items), total: task.items.length };
}

const endedOf = (items: readonly TaskItem[]): number =>
  items.filter(({ state }) => state === 'SUCCESS' || state === 'ERROR').length;

/** A task after a step: the whole one, its stored form, and the pages that changed. */
export interface SplitTask {
  readonly whole: TaskDocument;
  readonly stored: TaskDocument;
  readonly pages: readonly ItemPage[];
}

/** Splits a task. `before` is the whole task at the start of the step. */
export function splitTask(before: TaskDocument | undefined, after: TaskDocument): SplitTask {
  if (!after.paged && after.items.length <= itemsPerPage) return { whole: after, stored: after, pages: [] };
  const { id, items, execution_id } = after;
  const versions = [...(after.paged?.versions ?? [])];
  const isKnown = before?.paged !== undefined;
  const pages: ItemPage[] = [];
  for (let page = 0; page * itemsPerPage < items.length; page += 1) {
    const from = page * itemsPerPage;
    const found = items.slice(from, from + itemsPerPage);
    const isSame = isKnown && found.every((item, index) => item === before.items[from + index]);
    if (isSame && versions[page] !== undefined) continue;
    versions[page] = (versions[page] ?? 0) + 1;
    pages.push({ id: pageId(id, page), version: versions[page] ?? 1, execution_id, items: found });
  }
  const whole = { ...after, paged: { items: items.length, ended: endedOf(items), versions } };
  return { whole, stored: { ...whole, items: [] }, pages };
}

/** The whole task of a stored one. @throws Error for a page that is missing, which no writer leaves behind */
export function joinTask(stored: TaskDocument, pages: ReadonlyMap<string, ItemPage>): TaskDocument {
  if (!stored.paged) return stored;
  const count = Math.ceil(stored.paged.items / itemsPerPage);
  const items = Array.from({ length: count }, (_, page) => {
    const found = pages.get(pageId(stored.id, page));
    if (!found) throw new Error(`defect: task ${stored.id} has no page ${page} of its items`);
    return found.items;
  });
  return { ...stored, items: items.flat().slice(0, stored.paged.items) };
}
