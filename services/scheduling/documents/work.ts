/** The documents of our own provider. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { WorkingDocument } from '@anneal/provider/provide.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Signals } from './signals.ts';

export interface WorkDocument extends WorkingDocument {
  /** When a wait ends. Null: never by itself, or there is none. */
  readonly due_at: string | null;
  /** Only for a handle: the signals that it received. */
  readonly signals?: Signals;
  /** Handle with transport `NO_SIGNAL`: no signal is expected. */
  readonly silent?: boolean;
  /** Only for a wait condition: the id of its handle. */
  readonly handle?: string;
}

/** The form of earlier versions: no phase and no progress, and the request in two parts. */
type Earlier = Omit<WorkDocument, 'phase' | 'request' | 'attempts'> & {
  readonly request: { readonly message: Omit<Envelope, 'data'>; readonly data: ResourceRequest } | null;
};

/** Reads documents of earlier versions too. Each is written in the present form when it next changes. */
export function readable(collection: Collection<WorkDocument>): Collection<WorkDocument> {
  return {
    insert: (draft) => collection.insert(draft),
    replace: (draft, version) => collection.replace(draft, version),
    remove: (id, version) => collection.remove(id, version),
    bulk: (operations) => collection.bulk(operations),
    count: (where) => collection.count(where),
    rows: (query, paths) => collection.rows(query, paths),
    get: async (id) => present(await collection.get(id)),
    getMany: async (ids) => (await collection.getMany(ids)).map(present),
    find: async (query) => (await collection.find(query)).map(present),
  };
}

function present<T extends WorkDocument | undefined>(document: T): T {
  if (!document || 'phase' in document) return document;
  const { request, ...rest } = document as Earlier;
  return {
    ...rest,
    phase: request ? 'working' : 'done',
    request: request && { ...request.message, data: request.data },
    attempts: 0,
  } as T;
}
