/** The bus on NATS servers that require a login, or have no disk space. */
import { mintTestMessage, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BackendServer } from '../../backends/backend.ts';
import { findNats } from '../../backends/nats.ts';

const probe = await findNats({ config: '' });
const isHere = !('missing' in probe);
if ('missing' in probe) process.stderr.write(`${probe.missing}\n`);
else await probe.stop();

const todo = (n: number) => mintTestMessage(work, { data: { n, text: 'x'.repeat(100_000) } });

describe.skipIf(!isHere)('a NATS server with rules of its own', () => {
  let store: Store;
  let server: BackendServer | undefined;
  let bus: Bus | undefined;

  const serve = async (config: string): Promise<string> => {
    const found = await findNats({ config });
    if ('missing' in found) throw new Error(found.missing);
    server = found;
    return found.url;
  };
  const open = async (url: string): Promise<Bus> => {
    bus = await openTestBus({ url, store });
    return bus;
  };

  beforeEach(async () => {
    store = await openStore({ url: 'sqlite::memory:' });
  });
  afterEach(async () => {
    await bus?.close();
    bus = undefined;
    await store.close();
    await server?.stop();
  });

  it.each([
    ['authorization: { user: anneal, password: "p@ss word" }', 'anneal:p%40ss%20word@', 'anneal:wrong@'],
    ['authorization: { token: "s3cret" }', 's3cret@', 'wrong@'],
  ])('%s: accepts a client with these credentials, and refuses others with a reason', async (config, right, wrong) => {
    const url = await serve(config);
    const refused = open(url.replace('//', `//${wrong}`));
    await expect(refused).rejects.toMatchObject({
      code: 'Unauthorized',
      message: expect.stringMatching(/authori/i) as string,
    });
    await (await open(url.replace('//', `//${right}`))).check();
  });

  it('a full disk fails sends, and stored messages are handled when there is room', async () => {
    const opened = await open(await serve('jetstream: { max_file_store: 4MB }'));
    let sent = 0;
    const refused = vi.waitFor(async () => {
      const outcome = await opened.send({ queue: 'test.q', messages: [todo(sent)] }).catch((error: unknown) => error);
      if (outcome === undefined) sent += 1;
      expect(outcome).toMatchObject({ code: 'Unavailable', message: expect.stringContaining('refused') as string });
    });
    await refused;
    expect(sent).toBeGreaterThan(10);
    await expect(opened.check()).rejects.toMatchObject({ code: 'Unavailable' });
    const seen: number[] = [];
    await vi.waitFor(async () => {
      await opened.consume('test.q', async ({ message }) => void seen.push((message.data as { n: number }).n));
    });
    await vi.waitFor(() => expect(seen).toHaveLength(sent));
    await vi.waitFor(() => opened.check());
    await opened.send({ queue: 'test.q', messages: [todo(sent)] });
    await vi.waitFor(() => expect(seen).toHaveLength(sent + 1));
  });
});
