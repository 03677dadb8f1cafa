/** The targets of actions. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { grantOfUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readSinkAddress, shownAddress } from '../../sinks/sink-address.ts';

export type ActionTarget =
  /** A resource of Anneal; handled inside, not over HTTP. */
  | { readonly kind: 'signal'; readonly stack: string; readonly resource: string; readonly incarnation?: string }
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'log' };

export interface TargetContext {
  readonly secrets: Secrets;
  readonly gatewayUrl: string;
  readonly allowPrivate: boolean;
}

const signalPath =
  /^\/orchestration\/v1\/(?<project>[^/]+)\/stacks\/[^/]+\/(?<stack>[^/]+)\/resources\/(?<resource>[^/]+)\/signal$/;

/**
 * Reads a target: a resource of the same stack, the address of a signal of this server, another address, or a queue.
 * @throws AnnealError InvalidRequest for a target that no action can reach
 */
export function actionTarget(
  text: string,
  { secrets, gatewayUrl, allowPrivate }: TargetContext,
  alarm: { readonly project: string; readonly stack_id: string },
): ActionTarget {
  if (!/^[a-z][a-z+]*:\/\//i.test(text)) return { kind: 'signal', stack: alarm.stack_id, resource: text };
  const isTrusted = /^trust\+/i.test(text);
  const address = text.replace(/^trust\+/i, '');
  const url = URL.parse(address);
  if (!url) throw refused(text, 'it is not a URL');
  if (url.protocol === 'log:') return { kind: 'log' };
  if (url.protocol === 'zaqar:') {
    const queue = url.searchParams.get('queue_name');
    if (queue === null || queue === '') throw refused(text, 'it has no queue_name');
    return { kind: 'queue', queue };
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused(text, 'use http, https or zaqar');
  const grant = grantOfUrl(secrets, address);
  if (grant) {
    if (grant.project !== alarm.project || grant.run) throw refused(text, 'it belongs to another project or to a run');
    return { kind: 'signal', stack: grant.stack_id, resource: grant.resource_name, incarnation: grant.resource_id };
  }
  const path = address.startsWith(`${gatewayUrl}/`) ? signalPath.exec(url.pathname)?.groups : undefined;
  if (path) {
    const { project = '', stack = '', resource = '' } = path;
    if (decodeURIComponent(project) !== alarm.project) throw refused(text, 'it belongs to another project');
    return { kind: 'signal', stack: decodeURIComponent(stack), resource: decodeURIComponent(resource) };
  }
  if (isTrusted) throw refused(text, 'trust+ is supported only for addresses of this server');
  readSinkAddress(address, { allowPrivate });
  return { kind: 'http', url: address };
}

/** The target in the history: an address without its path, which may hold a secret. */
export function shownTarget(target: ActionTarget): string {
  switch (target.kind) {
    case 'signal':
      return target.resource;
    case 'http':
      return shownAddress(target.url);
    case 'queue':
      return `queue:${target.queue}`;
    case 'log':
      return 'log:';
  }
}

const refused = (text: string, why: string): AnnealError =>
  new AnnealError('InvalidRequest', `Cannot use the action ${text.replace(/\?.*/s, '?…').slice(0, 300)}: ${why}.`);
