/**
 * A subscriber's program: receives webhooks, verifies their signatures with Standard Webhooks, prints each event.
 *
 *     WEBHOOK_SECRET=whsec_… node test/demo/listener.ts
 *
 * Its first line is `listening <url>`; then it prints a line of JSON for each delivery.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

const secret = process.env['WEBHOOK_SECRET'];
if (!secret) {
  process.stderr.write('WEBHOOK_SECRET is not set\n');
  process.exit(2);
}
const webhook = new Webhook(secret);

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const printLine = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const server = createServer((request, response) => {
  const handle = async (): Promise<number> => {
    const body = await bodyOf(request);
    const header = (name: string): string => String(request.headers[name] ?? '');
    try {
      webhook.verify(body, {
        'webhook-id': header('webhook-id'),
        'webhook-timestamp': header('webhook-timestamp'),
        'webhook-signature': header('webhook-signature'),
      });
    } catch (error) {
      printLine({ refused: error instanceof Error ? error.message : String(error) });
      return 401;
    }
    printLine({ event: JSON.parse(body) as unknown });
    return 204;
  };
  handle().then(
    (status) => response.writeHead(status).end(),
    (error: unknown) => {
      printLine({ refused: String(error) });
      response.writeHead(500).end();
    },
  );
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address)
    process.stdout.write(`listening http://127.0.0.1:${address.port}/events\n`);
});
// Standard input ends when the parent process has died.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
