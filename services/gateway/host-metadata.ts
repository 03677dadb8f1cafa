/** The metadata of a host's server, for the collectors that poll: what the template gives, then the deployments. */
import { hostCollect, type HostCollector } from '@anneal/contracts/calls/hosts.ts';
import { hostMetadata } from '@anneal/contracts/calls/deployments.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { stackResources, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import type { Ask } from './ask.ts';

export interface CollectedMetadata {
  readonly metadata: JsonObject;
  /** Undefined for a host without a stack. */
  readonly resource: ResourceView | undefined;
}

/**
 * Takes the host's next request and returns its metadata.
 * @throws AnnealError NotFound for an unknown host, Forbidden when `as` names a server other than its own
 */
export async function collectFor(
  ask: Ask,
  question: { host_id: string; as?: { stack: string; resource: string } },
): Promise<CollectedMetadata> {
  const { metadata, collector, project } = await ask('configuration', hostCollect, { data: question });
  const resource = collector ? await resourceOf(ask, project, collector) : undefined;
  return { metadata: { ...resource?.metadata, ...metadata }, resource };
}

/**
 * The requests that a host popped, with the metadata of its server. A field of the request stays, because agents without
 * metadata read it.
 */
export async function withMetadata<M extends { readonly body: Json }>(
  ask: Ask,
  { project, messages, collector }: { project: string; messages: readonly M[]; collector: HostCollector | undefined },
): Promise<readonly M[]> {
  if (!collector || messages.length === 0) return messages;
  const metadata = (await resourceOf(ask, project, collector))?.metadata;
  return messages.map((message) =>
    isObject(message.body) ? { ...message, body: { ...metadata, ...message.body } } : message,
  );
}

async function resourceOf(ask: Ask, project: string, collector: HostCollector): Promise<ResourceView | undefined> {
  const { stack_id: stack, resource_name: name } = collector;
  const data = { project, stack, name, detail: true };
  // An abandoned stack leaves its hosts.
  const found = await ask('scheduling', stackResources, { project, data }).catch(ignoreNotFound);
  return found?.resources[0];
}

const serverTypes: ReadonlySet<string> = new Set(['OS::Nova::Server', 'OS::Heat::DeployedServer']);

/** The metadata of a resource as its owner reads it: takes no request, and secrets are masked. */
export async function shownMetadata(ask: Ask, project: string, resource: ResourceView): Promise<JsonObject> {
  const { metadata = {}, type, physical_id: host, attributes } = resource;
  if (!serverTypes.has(type) || host === null) return metadata;
  const { deployments } = await ask('configuration', hostMetadata, { project, data: { project, host } });
  const settings = attributes?.['os_collect_config'];
  return { ...metadata, deployments, ...(isObject(settings) && { 'os-collect-config': settings }) };
}
