/**
 * A bare HTTP server with the calls of a host: the floor of the bench. It keeps nothing, checks no token and answers a
 * claim at once, so what remains is the cost of HTTP and JSON in Node.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type FloorAnswer =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'use'; readonly cpuMicros: number };

let number = 0;
const request = {
  deployment_id: '00000000-0000-4000-8000-000000000000',
  name: 'step',
  group: 'script',
  config: '#!/bin/sh\ntrue\n',
  action: 'CREATE',
  inputs: [],
  outputs: [],
  options: {},
  timeout: 3600,
};

const server = createServer((incoming, outgoing) => {
  let text = '';
  incoming.setEncoding('utf8');
  incoming.on('data', (chunk: string) => (text += chunk));
  incoming.once('end', () => {
    if (text !== '') JSON.parse(text);
    const [path = ''] = (incoming.url ?? '').split('?');
    if (incoming.method === 'DELETE') return void outgoing.writeHead(204).end();
    const now = new Date().toISOString();
    number += 1;
    const body = path.endsWith('/claims')
      ? {
          messages: [
            {
              id: String(number),
              href: `${path.replace(/claims$/, 'messages')}/${number}?claim_id=${number}`,
              ttl: 3600,
              age: 0,
              body: { ...request, id: String(number), deadline: now, creation_time: now },
            },
          ],
        }
      : { resources: [`${path}/${number}`] };
    const answer = JSON.stringify(body);
    outgoing.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    outgoing.end(answer);
  });
});
const tell = (answer: FloorAnswer): void => void process.send?.(answer);
process.once('disconnect', () => process.exit());
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  tell({ kind: 'use', cpuMicros: user + system });
});
server.listen(0, '127.0.0.1', () => {
  tell({ kind: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
