/** Appends responses and events to a document's outbox. */
import { deploymentEvent, type DeploymentEventData } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { responseMessage } from '@anneal/provider/document.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Draft } from '@anneal/store/port.ts';
import type { ConfigurationResource, DeploymentState } from './collections.ts';

/** A step of a deployment that has an event of its own. */
export type DeploymentStep = Exclude<keyof typeof deploymentEvent, 'output'>;

interface RespondContext {
  readonly service: Pick<ServiceContext, 'mint'>;
}

/** Adds the response to the request that the document works on. Returns the changed document. */
export function respond(
  { service }: RespondContext,
  document: Draft<ConfigurationResource>,
  response: Pick<ResourceResponse, 'status' | 'attributes' | 'message' | 'error' | 'replace'>,
): Draft<ConfigurationResource> {
  const full: ResourceResponse = {
    resource_id: document.id,
    stack_id: document.stack_id,
    action: document.action,
    fence: document.fence,
    physical_id: document.id,
    ...response,
  };
  const last = response.status !== 'in progress';
  const queue = document.asker.replyto;
  const next = last ? { ...document, response: full } : document;
  if (queue === undefined) return next;
  // Each reported step has its own id, so that "started" does not look like a repeat of "queued".
  const step = last ? undefined : document.deployment?.started_at ? 'started' : 'queued';
  const message = responseMessage(service.mint, { asker: document.asker, response: full, step });
  return { ...next, outbox: [...next.outbox, { queue, message }], unsent: true };
}

/** Adds the event of a step of the deployment. `version` is the version that the document is about to get. */
export function withEvent(
  { service }: RespondContext,
  document: Draft<ConfigurationResource>,
  step: DeploymentStep,
  version: number,
): Draft<ConfigurationResource> {
  const { deployment } = document;
  if (!deployment) return document;
  const message = service.mint(deploymentEvent[step], {
    id: `deployment.${step}:${document.run_id ?? `${document.id}:${document.fence}`}`,
    subject: document.id,
    cause: document.asker,
    project: document.project,
    data: eventDataOf(document, deployment, version),
  });
  return { ...document, outbox: [...document.outbox, { queue: null, message }], unsent: true };
}

/** The data of every event of a deployment. */
export const eventDataOf = (
  document: Pick<ConfigurationResource, 'id' | 'stack_id' | 'name' | 'origin'>,
  deployment: DeploymentState,
  version: number,
): DeploymentEventData => ({
  origin: document.origin ?? unknownOrigin(),
  deployment_id: document.id,
  name: deployment.name,
  stack_id: document.stack_id,
  resource_name: document.name,
  host_id: deployment.host_id,
  host_name: deployment.host_name,
  action: deployment.action,
  status: deployment.status,
  status_code: deployment.status_code,
  version,
  outputs: Object.keys(deployment.output_values),
  ...(deployment.accepted_at !== undefined && { accepted_at: deployment.accepted_at }),
  ...(deployment.failure && { failure: deployment.failure }),
});
