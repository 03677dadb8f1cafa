/** Views of contexts. */
import type { ContextView } from '@anneal/contracts/context.ts';
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

export async function listContexts(
  { contexts }: ContextCollections,
  { project, stack_id }: { project: string; stack_id?: string | undefined },
): Promise<ContextView[]> {
  const found = await contexts.find({ where: stack_id === undefined ? { project } : { project, stack_id } });
  return found
    .map(viewContext)
    .toSorted((a, b) => (`${a.stack_name}/${a.name}` < `${b.stack_name}/${b.name}` ? -1 : 1));
}

/** @throws AnnealError NotFound, or Conflict when several contexts have the name */
export async function showContext(
  { contexts }: ContextCollections,
  { project, context }: { project: string; context: string },
): Promise<ContextView> {
  const byId = await contexts.get(context);
  if (byId?.project === project) return viewContext(byId);
  const [found, second] = await contexts.find({ where: { project, name: context }, limit: 2 });
  if (!found) throw new AnnealError('NotFound', `There is no context ${context} in this project.`);
  if (!second) return viewContext(found);
  throw new AnnealError(
    'Conflict',
    `Several contexts have the name ${context}: use the id of one (anneal context list).`,
  );
}
