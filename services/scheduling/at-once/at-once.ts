/**
 * Answers a request within the step that makes it, without a message or a second record, when the work takes no time
 * and touches nothing outside. An answer is a function of the request and of the moment of the step, and nothing is kept
 * from one try of a step for the next: a later try may make another request. A random value is in the record of the step
 * before any reader sees it. A record that is carried out again does not draw a new value.
 */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { type ResourceDocument, servedType, type StackDocument } from '@anneal/convergence/documents.ts';
import { responseTo } from '@anneal/provider/document.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { behaviourOf, takeOver } from './behaviours.ts';
import { drawsOf } from './draw.ts';
import { requestData } from './request-data.ts';
import type { KnownSources } from '../plans/sources.ts';

/** The values that all tries of one step share, so that each try computes the same. */
export interface StepMoment {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The source of the random values of the step: secret, and used for no other step. */
  readonly entropy: Uint8Array;
  /** The sources of nested stacks that earlier tries needed, by content hash. */
  readonly sources: KnownSources;
}

/** Returns undefined when the request must be sent to a provider. */
export function answerAtOnce(
  { stack, resource }: { stack: StackDocument; resource: ResourceDocument },
  { secrets, moment }: { secrets: Secrets; moment: StepMoment },
): ResourceResponse | undefined {
  const { request } = resource;
  const type = servedType(resource);
  const behaviour = type === undefined ? undefined : behaviourOf(type);
  const isAdopted = resource.action === 'ADOPT';
  if (!request || !behaviour || !(behaviour.atOnce || isAdopted)) return undefined;
  const { action } = request;
  const asked = requestData(stack, resource);
  const given = { ...asked, action, secrets, draw: drawsOf(moment.entropy, `${resource.id} ${request.fence}`) };
  const result = isAdopted && action === 'create' ? takeOver(behaviour, given) : behaviour.run(given);
  return responseTo(action, asked, result);
}
