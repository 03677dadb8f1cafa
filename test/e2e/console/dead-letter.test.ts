/** Dead letters in the web console: a message that no service can read is corrected and replayed, others are removed. */
import { join } from 'node:path';
import { openEmbeddedBroker } from '@anneal/bus/embedded/open.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Page } from 'playwright-core';
import { v7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../server.ts';
import { findBrowser, enterConsole, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the dead-letter editor is not tested: ${found}\n`);

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const queue = requestsQueue('configuration');

/** A message that the service cannot read: its messages are no list. */
const unreadable = (project: string): object => ({
  specversion: '1.0',
  id: v7(),
  type: queuePost.type,
  source: 'anneal/test',
  time: new Date().toISOString(),
  correlationid: v7(),
  project,
  data: { project, queue: 'corrected', client_id: 'api', messages: 'a greeting' },
});

/** Puts messages into the queue of a service. The server must be down, because one process has the file open. */
async function sendRaw(data: string, messages: readonly object[]): Promise<void> {
  const url = `sqlite:${join(data, 'bus.db')}`;
  const broker = await openEmbeddedBroker({
    url,
    source: 'anneal/test',
    newId: v7,
    now: () => new Date(),
    log: silent,
  });
  await broker.send({ queue, packets: messages.map((each) => ({ type: '', bytes: JSON.stringify(each) })) });
  await broker.close();
}

describe.skipIf(typeof found === 'string')('dead letters in the web console', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;
  const lettersArrive = (count: number) =>
    eventually(
      async () => {
        const letters = await server.client.deadLetters.list({ queue });
        return letters.length === count ? letters : undefined;
      },
      { what: `${count} messages being dead`, last: () => server.output() },
    );

  beforeAll(async () => {
    // The embedded bus, also where other tests use a broker: the test writes to its file.
    server = await startServer({ lab: 0, flags: [] });
    const project = server.client.connection.projectId;
    await server.kill();
    await sendRaw(server.data, [unreadable(project)]);
    await server.start();
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it('says when a replayed message is dead again, refuses what is no JSON, corrects a message that no service can read, and replays it', async () => {
    const [letter] = await lettersArrive(1);
    const id = letter?.id ?? '';
    await enterConsole(page, server, '/dead-letters');
    await page.getByRole('heading', { name: queue }).waitFor();
    // The ways to do the same without the console do not cover the reason.
    const button = page.getByRole('button', { name: 'Replay the message' });
    await button.hover();
    const [tip, reason] = await Promise.all([
      page.locator('.card > header .tip').first().boundingBox(),
      page.getByText(/^The data of queue.post is not valid/).boundingBox(),
    ]);
    expect((tip?.y ?? NaN) + (tip?.height ?? NaN)).toBeLessThan(reason?.y ?? NaN);
    await button.click();
    await page.getByText(/^1 sent; 1 dead again: The data of queue.post is not valid/).waitFor();
    await page.getByText(/after 2 attempts, replayed once/).waitFor();
    const [again] = await lettersArrive(1);
    expect(again?.id).not.toBe(id);
    await page.getByText(again?.id ?? '', { exact: true }).click();
    await page.getByText('Replayed after 1 attempt.').waitFor();
    await page.getByRole('button', { name: 'Edit the message' }).click();
    const editor = page.getByLabel('Data of the message');
    const text = await editor.inputValue();
    expect(text).toContain('"a greeting"');

    await editor.fill(text.replace('"a greeting"', '[{'));
    await page
      .getByRole('alert')
      .getByText(/The data is not JSON/)
      .waitFor();
    expect(await page.getByRole('button', { name: 'Replay unchanged' }).isDisabled()).toBe(true);
    await editor.fill(text.replace('"a greeting"', '[7]'));
    await page.getByRole('button', { name: 'Replay with the changes' }).click();
    await page.getByText(/Cannot change the dead letter.*messages/).waitFor();
    expect(await violationsIn(page)).toEqual([]);

    await editor.fill(text.replace('"a greeting"', '[{"body": "corrected in the editor"}]'));
    await page.getByRole('button', { name: /^anneal dead-letter replay .*corrected in the editor/ }).waitFor();
    await page.getByRole('button', { name: 'Replay with the changes' }).click();
    await page.getByText('1 sent; 1 handled.').waitFor();
    await page.getByText('No message has died.').waitFor();
    expect(await server.client.deadLetters.list({ queue })).toEqual([]);
    await page.goto(`${server.url}/queues/corrected`);
    await page
      .getByText(/corrected in the editor/)
      .first()
      .waitFor();
  });

  it('removes all dead letters of a cause, after the queue is typed', async () => {
    const project = server.client.connection.projectId;
    await server.kill();
    await sendRaw(server.data, [unreadable(project), unreadable(project)]);
    await server.start();
    await lettersArrive(2);
    await page.goto(`${server.url}/dead-letters`);
    await page.getByRole('link', { name: 'Dead letters 2 need you' }).waitFor();
    await page.getByRole('button', { name: 'Purge' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove all 2?' });
    await dialog.getByText('What they asked for is never done. This cannot be undone.').waitFor();
    await dialog.getByText(/anneal dead-letter purge \S+ \S+/).waitFor();
    const sure = dialog.getByRole('button', { name: 'Purge' });
    expect(await sure.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(queue);
    await sure.click();
    await page.getByText('Removed all 2.').waitFor();
    await page.getByText('No message has died.').waitFor();
    expect(await server.client.deadLetters.list({ queue })).toEqual([]);
  });
});
