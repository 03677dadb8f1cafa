/** Pages of the queues of a project. */
import type { QueueView } from '@anneal/contracts/calls/queues.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { pageOfRows, type PagedRows, type StoredPage } from '@anneal/store/page.ts';
import type { ListedRow } from '@anneal/store/port.ts';
import type { QueueDocument } from '../collections.ts';
import { viewQueue, type QueueContext } from './queue.ts';

/** The measures of a queue without messages. */
const nothing: Measured = { depth: 0, in_flight: 0, oldest: -1 };
type Measured = Readonly<Record<'depth' | 'in_flight' | 'oldest', number>>;

/**
 * In the order of names, only the queues of the page are measured. In the order of their messages, those that have
 * messages are measured, of which there are few among the queues of thousands of hosts.
 */
export async function pageOfQueues(
  context: QueueContext,
  { project, page }: { readonly project: string; readonly page: PageRequest },
): Promise<StoredPage<QueueView>> {
  const { queues } = context.collections;
  const all = await queues.rows({ where: { project }, orderBy: ['name'] }, ['name', 'host_id']);
  const measured = page.sort === undefined || page.sort === 'name' ? new Map() : await measureBusy(context, all);
  const { rows, ...counts } = await pageOfRows(all, pagedRows(measured), page);
  const documents = await queues.getMany(rows.map(({ id }) => id));
  const views = await Promise.all(documents.map((document) => viewOf(context, document)));
  return { documents: views.filter((view) => view !== undefined), ...counts };
}

const viewOf = (context: QueueContext, document: QueueDocument): Promise<QueueView | undefined> =>
  viewQueue(context, { ...document, kind: 'open', owner: null });

const pagedRows = (measured: ReadonlyMap<string, Measured>): PagedRows<ListedRow> => {
  const by = (name: keyof Measured) => (row: ListedRow) => (measured.get(row.id) ?? nothing)[name];
  return {
    natural: 'name',
    columns: { depth: by('depth'), in_flight: by('in_flight'), oldest: by('oldest') },
    textsOf: ({ values }) => [String(values['name']), values['host_id'] === null ? 'user' : 'host'],
  };
};

/** The queues with messages. The index goes from the first message of each queue to that of the next. */
async function measureBusy(context: QueueContext, all: readonly ListedRow[]): Promise<Map<string, Measured>> {
  const { messages, queues } = context.collections;
  const own = new Set(all.map(({ id }) => id));
  const busy: string[] = [];
  for (let last = ''; ;) {
    const [first] = await messages.find({ where: { queue: { gt: last } }, orderBy: ['queue', 'sequence'], limit: 1 });
    if (!first) break;
    last = first.queue;
    if (own.has(last)) busy.push(last);
  }
  const measured = new Map<string, Measured>();
  for (const document of await queues.getMany(busy)) {
    const view = await viewOf(context, document);
    if (view) {
      measured.set(document.id, { depth: view.free, in_flight: view.claimed, oldest: view.oldest_age ?? -1 });
    }
  }
  return measured;
}
