/** Faults of single controllers behind the shared endpoint: a fault of a machine affects every request about it. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FalseAnswer, Faults } from '../faults.ts';
import { bmcPath } from './endpoint.ts';
import { RedfishError } from './errors.ts';
import { noSession } from './sessions.ts';

export function misbehave(app: FastifyInstance, faults: ReadonlyMap<string, Faults>): void {
  const faultAt = (path: string): Faults | undefined => {
    const id = /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(path)?.[1];
    return id === undefined ? undefined : faults.get(id);
  };

  app.addHook('onRequest', async (request, reply) => {
    const fault = faultAt(bmcPath(request));
    if (!fault) return;
    if (fault.isDark) {
      request.raw.socket.destroy();
      reply.hijack();
      return;
    }
    if (fault.slowMs > 0) await sleep(fault.slowMs);
    const wait = fault.takeBusy();
    if (wait !== undefined) {
      throw new RedfishError(
        'ServiceTemporarilyUnavailable',
        `The service is temporarily unavailable. Retry in ${wait} seconds.`,
        { headers: { 'retry-after': String(wait) } },
      );
    }
    if (fault.answer !== null) await answerFalsely(reply, fault.answer);
    if (request.method === 'PATCH') checkTag(fault.etags, request.headers['if-match']);
  });

  app.addHook('onSend', async (request, reply, payload) => {
    const fault = faultAt(bmcPath(request));
    if (fault?.etags === 'required') void reply.removeHeader('etag');
    const pause = fault?.dripMs ?? 0;
    if (pause === 0 || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) return payload;
    return Readable.from(dripping(Buffer.from(payload), pause), { objectMode: false, highWaterMark: 1 });
  });
}

function checkTag(etags: Faults['etags'], tag: string | undefined): void {
  if (etags === 'refused' && tag !== undefined)
    throw new RedfishError('PreconditionFailed', 'The ETag supplied did not match the ETag required.');
  if (etags === 'required' && tag === undefined)
    throw new RedfishError(
      'PreconditionRequired',
      'A precondition header or annotation is required to change this resource.',
    );
}

async function* dripping(content: Buffer, pause: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += 1) {
    yield content.subarray(at, at + 1);
    await sleep(pause);
  }
}

const loginPage =
  '<!DOCTYPE html><html><head><title>Log in</title></head><body><form>User <input></form></body></html>';

async function answerFalsely(reply: FastifyReply, answer: FalseAnswer): Promise<void> {
  switch (answer) {
    case 'hang':
      reply.hijack();
      return;
    case 'half':
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'application/json', 'content-length': '4096' });
      reply.raw.write('{"@odata.id": "/redfish/v1/Sys', () => reply.raw.destroy());
      return;
    case 'garbage':
      await reply.type('application/json').send(randomBytes(512));
      return;
    case 'html':
      await reply.type('text/html').send(loginPage);
      return;
    case 'empty':
      await reply.type('application/json').send('{}');
      return;
    case 'deep':
      await reply.type('application/json').send(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`);
      return;
    case 'unauthorized':
      throw noSession();
    case 'error':
      throw new RedfishError('InternalError', 'The request failed due to an internal service error.');
  }
}
