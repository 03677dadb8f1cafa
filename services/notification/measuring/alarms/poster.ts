/** Posts the actions of alarms to addresses outside Anneal. Redirects are not followed. */
import { Agent, request } from 'undici';
import { publicLookup } from '../../sinks/public-address.ts';
import { reasonOf } from '../../sinks/sink.ts';

/** The most bytes of an unread answer that are received before the connection is closed. */
const mostDumped = 16 * 1024;

export interface ActionPoster {
  /** Null when the listener accepted the body; otherwise the reason. Never rejects. The id is the same for each attempt. */
  post(url: string, content: { readonly id: string; readonly body: string }): Promise<string | null>;
  close(): Promise<void>;
}

export function openActionPoster(options: {
  timeoutMs: number;
  allowPrivate: boolean;
  connections: number;
}): ActionPoster {
  const { timeoutMs, allowPrivate, connections } = options;
  const agent = new Agent({
    connect: { timeout: timeoutMs, ...(!allowPrivate && { lookup: publicLookup }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connections,
  });
  const closing = new AbortController();
  return {
    async post(url, { id, body }) {
      try {
        const response = await request(url, {
          dispatcher: agent,
          method: 'POST',
          signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
          headers: {
            'content-type': 'application/json',
            'user-agent': 'anneal',
            'x-openstack-request-id': `req-${id}`,
          },
          body,
        });
        await response.body.dump({ limit: mostDumped }).catch(() => undefined);
        const { statusCode: status } = response;
        return status >= 200 && status < 300 ? null : `the listener answered ${status}`;
      } catch (error) {
        return reasonOf(error);
      }
    },
    async close() {
      closing.abort(new Error('the service stops'));
      await agent.close();
    },
  };
}
