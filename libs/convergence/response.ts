/** What a provider's answer does to its resource. */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { revisit } from './converge.ts';
import { failLeaf } from './finish.ts';
import type { PendingRequest, ResourceDocument } from './state.ts';
import { announceResource, changeResource, removeResource, type Transaction } from './transaction.ts';
import { attemptOf } from './traversal.ts';

export function takeResponse(transaction: Transaction, response: ResourceResponse): void {
  const resource = transaction.state.resources.get(response.resource_id);
  if (!resource) return;
  if (response.action === 'signal') {
    takeSignalled(transaction, resource, response);
    return;
  }
  const request = resource.request;
  if (!request || request.fence !== response.fence || request.action !== response.action) {
    // Too late to count; but what was made must be known to whoever deletes it.
    if (resource.physical_id === null && response.physical_id !== undefined) {
      changeResource(transaction, resource.id, { physical_id: response.physical_id });
    }
    return;
  }
  const told = {
    ...(response.physical_id !== undefined && { physical_id: response.physical_id }),
    ...(response.attributes !== undefined && { attributes: response.attributes }),
  };
  switch (response.status) {
    case 'in progress': {
      const reason = response.message ?? resource.reason;
      if (reason === resource.reason && Object.keys(told).length === 0) return;
      changeResource(transaction, resource.id, { ...told, reason });
      return;
    }
    case 'complete':
      complete(transaction, resource, request, told);
      return;
    case 'failed':
      if (response.replace && request.action === 'update') {
        mustBeReplaced(transaction, resource, request, told);
        return;
      }
      changeResource(transaction, resource.id, told);
      failLeaf(transaction, resource.id, {
        action: resource.action,
        failure: response.error ?? {
          code: 'ResourceFailed',
          message: response.message ?? 'The provider gave no reason.',
        },
        attempted: attemptOf(request),
        traversal: request.traversal,
      });
      // A newer traversal goes on with it.
      const failed = transaction.state.resources.get(resource.id);
      if (failed) revisit(transaction, failed);
  }
}

function complete(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  told: Partial<ResourceDocument>,
): void {
  const done = changeResource(transaction, resource.id, {
    ...told,
    status: 'COMPLETE',
    reason: 'state changed',
    request: null,
    failure: null,
    attempted: null,
    must_replace: false,
    finished_at: transaction.now,
    ...(request.action !== 'delete' && { properties: request.properties, requires: request.requires }),
  });
  announceResource(transaction, done);
  if (request.action === 'delete') removeResource(transaction, resource.id);
  else revisit(transaction, done);
}

/**
 * The provider can only do this by a new object: the original stays as it was, and is replaced. It is whole, and may be
 * taken back, unless an earlier update failed half-way.
 */
function mustBeReplaced(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  told: Partial<ResourceDocument>,
): void {
  const refused = changeResource(transaction, resource.id, {
    ...told,
    status: resource.attempted === null ? 'COMPLETE' : 'FAILED',
    reason: 'The update needs a replacement.',
    request: null,
    must_replace: true,
    requires: [...new Set([...resource.requires, ...request.requires])],
    finished_at: transaction.now,
  });
  revisit(transaction, refused);
}

function takeSignalled(transaction: Transaction, resource: ResourceDocument, response: ResourceResponse): void {
  if (response.status === 'in progress') return;
  const changed = changeResource(transaction, resource.id, {
    ...(response.attributes !== undefined && { attributes: response.attributes }),
  });
  announceResource(
    transaction,
    response.status === 'failed' && response.error
      ? { ...changed, status: 'FAILED', reason: response.error.message, failure: response.error, started_at: null }
      : { ...changed, status: 'COMPLETE', reason: response.message ?? 'Signal received', started_at: null },
    'SIGNAL',
  );
}
