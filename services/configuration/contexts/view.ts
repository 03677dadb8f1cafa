/** Views of contexts. */
import type { ContextView } from '@anneal/contracts/calls/context.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { lastReport } from '@anneal/provider/provide.ts';
import type { ContextCollections, ContextDocument } from './document.ts';

function viewContext(document: ContextDocument): ContextView {
  const { data, failures, settled_at } = document;
  const { message } = lastReport(document);
  const status = settled_at === null ? 'APPLYING' : failures.length > 0 ? 'FAILED' : 'APPLIED';
  const reason = {
    APPLYING: message === '' ? 'Its configs run on the members' : message,
    APPLIED: 'All members that are up have run its configs',
    FAILED: `${failures[0]?.config ?? ''} failed on ${failures[0]?.member ?? ''}: ${failures[0]?.reason ?? ''}`,
  }[status];
  return {
    id: document.id,
    name: document.name,
    project: document.project,
    stack_id: document.stack_id,
    stack_name: document.stack_name,
    status,
    reason,
    data,
    failures: [...failures],
    changed_at: document.changed_at,
    settled_at,
  };
}

interface Asked {
  readonly project: string;
  /** The host that asks. Undefined: a person. */
  readonly member?: string | undefined;
}

/** Keeps the contexts of which the asking host is a member. */
async function readable(
  { memberships }: ContextCollections,
  found: readonly ContextDocument[],
  { member }: Asked,
): Promise<readonly ContextDocument[]> {
  if (member === undefined) return found;
  const own = new Set((await memberships.find({ where: { host: member } })).map(({ context }) => context));
  return found.filter(({ id }) => own.has(id));
}

/** A member sees the data that its configs get. Failures quote what other hosts printed. */
const viewFor = (document: ContextDocument, { member }: Asked): ContextView => {
  const view = viewContext(document);
  return member === undefined || view.failures.length === 0
    ? view
    : { ...view, failures: [], reason: 'A config failed; the reason is for people' };
};

export async function listContexts(
  stored: ContextCollections,
  { stack_id, ...asked }: Asked & { stack_id?: string | undefined },
): Promise<ContextView[]> {
  const { project } = asked;
  const found = await stored.contexts.find({ where: stack_id === undefined ? { project } : { project, stack_id } });
  return (await readable(stored, found, asked))
    .map((document) => viewFor(document, asked))
    .toSorted((a, b) => (`${a.stack_name}/${a.name}` < `${b.stack_name}/${b.name}` ? -1 : 1));
}

/** @throws AnnealError NotFound, also for a context of which the asking host is no member; Conflict for a shared name. */
export async function showContext(
  stored: ContextCollections,
  { context, ...asked }: Asked & { context: string },
): Promise<ContextView> {
  const { project } = asked;
  const byId = await stored.contexts.get(context);
  const named =
    byId?.project === project ? [byId] : await stored.contexts.find({ where: { project, name: context }, limit: 100 });
  const [found, second] = await readable(stored, named, asked);
  if (!found) throw new AnnealError('NotFound', `There is no context ${context} in this project.`);
  if (!second) return viewFor(found, asked);
  throw new AnnealError(
    'Conflict',
    `Several contexts have the name ${context}: use the id of one (anneal context list).`,
  );
}
