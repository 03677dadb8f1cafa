/** Existing objects: adopted from an abandoned stack, or external and only checked. */
import { isUuid } from '@anneal/contracts/readers/uuid.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { joinRecords } from '@anneal/contracts/ordered-map.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { failLeaf, refuseLeaf } from '../node/failure.ts';
import { revisit } from '../node/node.ts';
import { createIncarnation, passThrough, send, type ResolvedResource } from './incarnation.ts';
import { isNested, type ResourceDocument } from '../documents.ts';
import { changeResource, type Transaction } from '../transaction.ts';

/**
 * Takes over the object that the abandoned stack's data names. A provider knows an object by the id of its old
 * resource, so the new resource gets that id again. Its fence starts above all earlier ones, so old requests cannot
 * overtake new ones.
 */
export function adoptOne(transaction: Transaction, planned: PlanResource, resolved: ResolvedResource): void {
  const { state, tools } = transaction;
  const all = state.stack.adopt ?? {};
  const given = Object.hasOwn(all, planned.name) ? all[planned.name] : undefined;
  const data = isObject(given) ? given : {};
  const physicalId = data['resource_id'];
  const isOwn = typeof physicalId === 'string' && isUuid(physicalId) && !planned.nested;
  const id = isOwn && !state.resources.has(physicalId) ? physicalId : undefined;
  const created = createIncarnation(transaction, planned, resolved, null, id);
  if (isNested(created)) {
    // The shell of the nested stack reads the data of the nested stack from this stack's.
    send(transaction, created, 'create', resolved, [], 'ADOPT');
    return;
  }
  if (typeof physicalId !== 'string' || physicalId === '') {
    const failure = { code: 'ResourceFailed', message: 'Resource ID was not provided.' };
    failLeaf(transaction, created.id, { action: 'ADOPT', failure });
    return;
  }
  const { metadata } = data;
  const resource = changeResource(transaction, created.id, {
    physical_id: physicalId,
    fence: tools.now,
    ...(isObject(metadata) && { metadata: joinRecords(isObject(created.metadata) ? created.metadata : {}, metadata) }),
    ...(isObject(data['attributes']) && { attributes: data['attributes'] }),
  });
  const action = (['adopt', 'check'] as const).find((one) => tools.serves(resource, one));
  if (action) {
    const { properties } = resolved;
    send(transaction, resource, action === 'adopt' ? 'create' : 'check', { properties }, [], 'ADOPT');
    return;
  }
  const adopted = passThrough(transaction, resource.id, {
    action: 'ADOPT',
    properties: resolved.properties,
    seen_at: state.stack.clock,
  });
  revisit(transaction, adopted);
}

/** A resource with `external_id`. The engine never makes, changes or deletes its object; the id cannot change. */
export function visitExternal(
  transaction: Transaction,
  parameters: {
    planned: PlanResource;
    resolved: ResolvedResource;
    candidates: readonly ResourceDocument[];
    settle: (
      transaction: Transaction,
      resource: ResourceDocument,
      planned: PlanResource,
      resolved: ResolvedResource,
    ) => void;
  },
): void {
  const { planned, resolved, candidates } = parameters;
  const wanted = resolved.external_id;
  const ours = candidates.filter(({ type }) => type === planned.type);
  const existing = ours.find(({ action }) => action !== 'INIT');
  if (existing) {
    if (existing.request) return;
    if (!existing.external || existing.physical_id !== wanted) {
      const what = `Update to property external_id of ${planned.name} (${planned.type})`;
      refuseLeaf(transaction, existing, { code: 'NotSupported', message: `${what} is not supported.` });
    } else if (existing.status === 'FAILED') {
      look(transaction, existing);
    } else {
      parameters.settle(transaction, existing, planned, resolved);
    }
    return;
  }
  const created = ours[0] ?? createIncarnation(transaction, planned, resolved, null);
  const resource = changeResource(transaction, created.id, { external: true, physical_id: wanted ?? null });
  look(transaction, resource);
}

function look(transaction: Transaction, resource: ResourceDocument): void {
  if (transaction.tools.serves(resource, 'check')) {
    send(transaction, resource, 'check', { properties: {} }, []);
    return;
  }
  const reason = `CHECK not supported for ${resource.type}`;
  revisit(transaction, passThrough(transaction, resource.id, { action: 'CHECK', reason }));
}
