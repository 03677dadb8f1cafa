/** Builds the request about a resource for its provider, or for the shard of a nested stack. */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { placeWithin, unknownOrigin, type Origin, type TreePlace } from '@anneal/contracts/origin.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import {
  resourceCancel,
  resourceCheck,
  resourceCreate,
  resourceDelete,
  resourceResume,
  resourceSignal,
  resourceSnapshot,
  resourceSuspend,
  resourceUpdate,
  resourceWithdraw,
  type NestedRequest,
  type ResourceRequest,
} from '@anneal/contracts/resource.ts';
import type { Effect } from '@anneal/convergence/protocol.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { showsServers } from '../groups/facts.ts';
import { requestData } from '../at-once/request-data.ts';
import { requestId } from './request-id.ts';

export type RequestEffect = Extract<Effect, { kind: 'request' | 'cancel' | 'withdraw' | 'signal' }>;

const plain = {
  create: resourceCreate,
  delete: resourceDelete,
  check: resourceCheck,
  suspend: resourceSuspend,
  resume: resourceResume,
  snapshot: resourceSnapshot,
} as const;

/** Returns undefined when the request is no longer pending. */
export function requestEnvelope(parameters: {
  mint: Mint;
  evaluation: Evaluation;
  stack: StackDocument;
  /** Where the stack is. */
  place: TreePlace;
  resource: ResourceDocument;
  effect: RequestEffect;
  cause: Envelope;
  replyto: string;
  /** The plan of the stack's target; only for requests to nested stacks. */
  plan: Plan | undefined;
}): Envelope | undefined {
  const { mint, stack, resource, effect, cause, replyto } = parameters;
  const { request } = resource;
  const operator = stack.occasion?.operator;
  const common = { subject: resource.id, project: stack.project, replyto, cause };
  const data = { ...requestData(stack, resource), origin: originOf(parameters) };
  if (effect.kind === 'signal') {
    return mint(resourceSignal, {
      ...common,
      id: requestId({ kind: 'signal', resource: resource.id, signal: effect.id }),
      data: { ...data, signal: effect.signal, ...(effect.asked && { asked: effect.asked }) },
    });
  }
  if (effect.kind === 'cancel' || effect.kind === 'withdraw') {
    const message = effect.kind === 'cancel' ? resourceCancel : resourceWithdraw;
    return mint(message, { ...common, id: requestId(effect), data });
  }
  if (!request || request.fence !== effect.fence) return undefined;
  const id = requestId(effect);
  const nested = nestedPart(parameters);
  const full: ResourceRequest = {
    ...data,
    ...(nested && { nested }),
    ...(operator !== undefined && { operator }),
    ...(request.after && { after: [...request.after] }),
    ...(request.action === 'delete' && stack.abandoned && { abandon: true }),
  };
  if (request.action === 'update') {
    const update = { ...full, old_properties: resource.properties, changed: [...request.changed] };
    return mint(resourceUpdate, { ...common, id, data: update });
  }
  return mint(plain[request.action], { ...common, id, data: full });
}

function originOf({
  stack,
  place,
  resource,
  effect,
}: {
  stack: StackDocument;
  place: TreePlace;
  resource: ResourceDocument;
  effect: RequestEffect;
}): Origin {
  const signalled = effect.kind === 'signal' ? effect.occasion : undefined;
  const { actor, cause } = signalled ?? stack.occasion ?? unknownOrigin();
  return { ...placeWithin(place, resource.name), actor, cause };
}

function nestedPart({
  evaluation,
  stack,
  resource,
  plan,
}: {
  evaluation: Evaluation;
  stack: StackDocument;
  resource: ResourceDocument;
  plan: Plan | undefined;
}): NestedRequest | undefined {
  const planned = plan && Object.hasOwn(plan.resources, resource.name) ? plan.resources[resource.name] : undefined;
  if (!plan || !planned?.nested) return undefined;
  const { kind, digest, reads, replace_lost: lost } = planned.nested;
  return {
    kind,
    source: digest,
    reads,
    root: stack.root,
    depth: stack.depth + 1,
    owner: stack.owner,
    timeout_minutes: stack.timeout_minutes,
    revision: stack.target.revision,
    environment: stack.target.environment,
    files: stack.target.files,
    facade: {
      metadata: resource.metadata,
      deletion_policy: resource.deletion_policy,
      update_policy: evaluation.written(planned.update_policy, { plan, stack }),
    },
    resources_outside: 0,
    ...(lost && { replace_lost: lost }),
    ...(showsServers(stack) && { shows_servers: true }),
    ...((stack.action === 'ROLLBACK' || stack.parent?.restores === true) && { restores: true }),
  };
}
