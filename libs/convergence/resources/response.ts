/** Applies the response of a provider to its resource. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { triesAgain } from './backoff.ts';
import { attemptOf, bounded, failLeaf } from '../node/failure.ts';
import { failsInConsequence, seenBy } from '../node/recall.ts';
import { revisit } from '../node/node.ts';
import { holdAt } from '../node/wait.ts';
import { followAttributes, followCompleted } from './follow.ts';
import { withinLimits } from '../size.ts';
import { isNested, type PendingRequest, type ResourceDocument } from '../documents.ts';
import { announceResource, changeResource, removeResource, type Transaction } from '../transaction.ts';

/**
 * Applies a response to its resource. A response to an older fence or another action changes at most the physical id,
 * so duplicates and late ones are harmless.
 */
export function takeResponse(transaction: Transaction, answer: ResourceResponse): void {
  const { state, tools } = transaction;
  const resource = state.resources.get(answer.resource_id);
  if (!resource) return;
  const response = tools.sizes
    ? withinLimits(answer, resource, { limits: tools.sizes, stackBytes: state.bytes })
    : answer;
  if (response.action === 'signal') {
    takeSignalled(transaction, resource, response);
    return;
  }
  const request = resource.request;
  if (!request || request.fence !== response.fence || request.action !== response.action) {
    takeUnasked(transaction, resource, response);
    return;
  }
  const reported: Partial<ResourceDocument> = {
    ...(response.physical_id !== undefined && { physical_id: response.physical_id }),
    ...(response.attributes !== undefined && { attributes: response.attributes }),
    ...(response.drift !== undefined && { drift: response.drift }),
    ...(response.snapshot !== undefined && { snapshot: response.snapshot }),
    ...(response.sequence !== undefined && { sequence: response.sequence }),
    ...(response.used !== undefined && { used: response.used }),
    ...(response.replace && { must_replace: true }),
  };
  switch (response.status) {
    case 'in progress': {
      const reason = response.message ?? resource.reason;
      if (reason === resource.reason && Object.keys(reported).length === 0) return;
      changeResource(transaction, resource.id, { ...reported, reason });
      return;
    }
    case 'complete':
      complete(transaction, resource, request, reported);
      return;
    case 'failed':
      if (response.replace && request.action === 'update')
        mustBeReplaced(transaction, resource, request, { reported, response });
      else if (!triesAgain(transaction, resource, request, response))
        failed(transaction, resource, request, { reported, response });
  }
}

function complete(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  reported: Partial<ResourceDocument>,
): void {
  const { action } = request;
  const applied = action === 'create' || action === 'update' || resource.action === 'ADOPT';
  const done = changeResource(transaction, resource.id, {
    ...reported,
    status: 'COMPLETE',
    reason: 'state changed',
    request: null,
    failure: null,
    finished_at: transaction.now,
    // A visit does not show the effects of an earlier failed update.
    ...(applied && {
      attempted: null,
      must_replace: false,
      properties: request.properties,
      requires: request.requires,
      digest: request.digest,
      source: request.source,
      sources: request.sources,
      seen_at: seenBy(transaction, request),
      drift: [],
    }),
    ...(action === 'check' && transaction.state.stack.observe && asFound(resource, reported)),
  });
  announceResource(transaction, done);
  if (applied) followCompleted(transaction, done);
  if (action === 'create' && (holdAt(transaction, done, 'launching') || holdAt(transaction, done, 'post-create')))
    return;
  if (action === 'update' && holdAt(transaction, done, 'post-update')) return;
  if (action === 'delete' && holdAt(transaction, done, 'post-delete')) return;
  if (action === 'delete') removeResource(transaction, resource.id);
  else revisit(transaction, done);
}

/** Takes the observed values into the properties, so that the plan is compared with them. */
function asFound(resource: ResourceDocument, { drift = [] }: Partial<ResourceDocument>): Partial<ResourceDocument> {
  if (drift.length === 0) return {};
  const found = toRecord(drift.map(({ property, actual }) => [property, actual]));
  return { properties: { ...resource.properties, ...found }, digest: null };
}

/**
 * Handles an update that needs a new object: the original stays as it was, and is replaced. It is healthy, and a later
 * plan may use it again, unless an earlier update failed half-way.
 */
function mustBeReplaced(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  { reported, response }: { reported: Partial<ResourceDocument>; response: ResourceResponse },
): void {
  const whole = resource.attempted === null;
  const refused = changeResource(transaction, resource.id, {
    ...reported,
    status: whole ? 'COMPLETE' : 'FAILED',
    failure: whole ? null : failureOf(response),
    reason: 'The update needs a replacement.',
    request: null,
    must_replace: true,
    requires: [...new Set([...resource.requires, ...request.requires])],
    finished_at: transaction.now,
  });
  announceResource(transaction, refused);
  revisit(transaction, refused);
}

const failureOf = ({ error, message }: ResourceResponse): Failure =>
  bounded(error ?? { code: 'ResourceFailed', message: message ?? 'The provider gave no reason.' });

function failed(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  how: { reported: Partial<ResourceDocument>; response: ResourceResponse },
): void {
  const { reported, response } = how;
  const { stack } = transaction.state;
  changeResource(transaction, resource.id, reported);
  // Drift check before an update: recreate a missing object; keep the last known state when the check itself failed.
  const looked = request.action === 'check' && stack.observe && request.traversal === stack.traversal;
  const missing = response.error?.code === 'NotFound';
  // A missing object has nothing to save: its deletion continues.
  const unsaved = request.action === 'snapshot' && stack.action !== 'SNAPSHOT' && missing;
  if ((looked && resource.action !== 'ADOPT') || unsaved) {
    const gone = missing || (response.drift?.length ?? 0) > 0;
    const seen = changeResource(transaction, resource.id, {
      status: gone ? 'FAILED' : 'COMPLETE',
      failure: gone ? failureOf(response) : null,
      reason: response.error?.message ?? response.message ?? '',
      request: null,
      finished_at: transaction.now,
    });
    announceResource(transaction, seen);
    revisit(transaction, seen);
    return;
  }
  failLeaf(transaction, resource.id, {
    action: resource.action,
    failure: failureOf(response),
    leaves: response.failures,
    attempted: attemptOf(request, resource),
    traversal: request.traversal,
    isConsequence: failsInConsequence(transaction, request),
  });
  // A newer traversal continues with this resource.
  const left = transaction.state.resources.get(resource.id);
  if (left) revisit(transaction, left);
}

/** Handles a late or unsolicited response. */
function takeUnasked(transaction: Transaction, resource: ResourceDocument, response: ResourceResponse): void {
  // The deletion needs the id of the object that was made.
  if (resource.physical_id === null && response.physical_id !== undefined) {
    changeResource(transaction, resource.id, { physical_id: response.physical_id });
  }
  const fresh = response.sequence !== undefined && response.sequence > resource.sequence;
  if (!isNested(resource) || resource.request || !fresh || response.fence !== resource.fence) return;
  if (resource.action === 'DELETE' || response.status === 'in progress') return;
  const whole = response.status === 'complete';
  const changed = changeResource(transaction, resource.id, {
    sequence: response.sequence ?? 0,
    ...(response.used !== undefined && { used: response.used }),
    ...(response.attributes !== undefined && { attributes: response.attributes }),
    // The nested stack differs from what was applied: the next update goes into it.
    ...(!whole && { attempted: resource.properties }),
  });
  followAttributes(transaction, { before: resource, after: changed, failure: whole ? null : failureOf(response) });
}

function takeSignalled(transaction: Transaction, resource: ResourceDocument, response: ResourceResponse): void {
  if (response.status === 'in progress') return;
  const changed = changeResource(transaction, resource.id, {
    ...(response.attributes !== undefined && { attributes: response.attributes }),
  });
  const error = response.status === 'failed' ? failureOf(response) : undefined;
  announceResource(
    transaction,
    { ...changed, started_at: null },
    {
      action: 'SIGNAL',
      status: error ? 'FAILED' : 'COMPLETE',
      reason: error?.message ?? response.message ?? 'Signal received',
      ...(error && { failure: error }),
    },
  );
  followAttributes(transaction, { before: resource, after: changed });
}
