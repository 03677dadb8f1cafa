/** Images in the web console, in a browser on another computer: a page over plain HTTP has no locks and no clipboard. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

// Browsers trust 127.0.0.1 like a page over HTTPS, but no other name.
const name = 'anneal.test';
const found = await findBrowser([`--host-resolver-rules=MAP ${name} 127.0.0.1`]);
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

describe.skipIf(typeof found === 'string')('images in the web console', () => {
  let server: TestServer;
  let page: Page;
  let url: string;
  const browser = found as Browser;
  const content = randomBytes(3 * 1024 * 1024);
  const sha256 = createHash('sha256').update(content).digest('hex');

  beforeAll(async () => {
    server = await startServer({ lab: 1 });
    url = server.url.replace('127.0.0.1', name);
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    await enterConsole(page, { ...server, url }, '/images');
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it('uploads a file, shows its checksum, and downloads the same content', async () => {
    expect(await page.evaluate('isSecureContext')).toBe(false);
    await page.getByText('No image yet.').waitFor();
    await page.getByRole('button', { name: 'Add an image …' }).click();
    await page
      .getByLabel(/^File/)
      .setInputFiles({ name: 'small disk.raw', mimeType: 'application/octet-stream', buffer: content });
    await page.getByText("anneal image add 'small disk' --file 'small disk.raw'").waitFor();
    await page.getByLabel('Name', { exact: true }).fill('small');
    await page.getByRole('button', { name: 'Upload 3 MiB' }).click();
    await page.getByRole('link', { name: 'small' }).click();
    await page.getByText(sha256).waitFor();
    expect(await server.client.images.show({ image: 'small' })).toMatchObject({ sha256, size: content.length });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    const hash = createHash('sha256');
    for await (const chunk of await download.createReadStream()) hash.update(chunk as Buffer);
    expect(hash.digest('hex')).toBe(sha256);
  });

  it('shows how far a slow upload is, and stops it', async () => {
    const slow = await page.context().newCDPSession(page);
    await slow.send('Network.enable');
    await slow.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 512 * 1024,
    });
    await page.goto(`${url}/images`);
    await page.getByRole('button', { name: 'Add an image …' }).click();
    // By its path: 20 MiB through the connection that steers the browser take longer than its limit on a busy machine.
    const file = join(server.data, 'big.raw');
    await writeFile(file, Buffer.alloc(20 * 1024 * 1024, 1));
    await page.getByLabel(/^File/).setInputFiles(file);
    await page.getByRole('button', { name: 'Upload 20 MiB' }).click();
    await page.getByText(/^[1-9]\d* MiB of 20 MiB, \d+ %$/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The upload was stopped.').waitFor();
    await slow.detach();
    expect((await server.client.images.list()).map((image) => image.name)).toEqual(['small']);
  });

  it('adds an image by its address, shows the refusal of a second one, and removes it after its name is typed', async () => {
    await page.goto(`${url}/images`);
    for (let time = 0; time < 2; time += 1) {
      await page.getByRole('button', { name: 'Add an image …' }).click();
      await page.getByLabel('Name an address').check();
      await page.getByLabel('Name', { exact: true }).fill('far');
      await page.getByLabel(/^Address/).fill('http://10.0.0.1/far.raw');
      await page.getByLabel(/^Checksum/).fill(sha256);
      await page.getByLabel(/^Size/).fill(String(4096 + time));
      await page.getByRole('button', { name: 'Add the image' }).click();
      if (time === 0) await page.getByRole('link', { name: 'far' }).waitFor();
    }
    await page
      .getByText(/far.*already exists/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'far' }).click();
    await page.getByText('http://10.0.0.1/far.raw').waitFor();
    expect(await violationsIn(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('anneal image remove far').waitFor();
    await dialog.getByRole('textbox').fill('far');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.waitForURL('**/images');
    await page.getByRole('link', { name: 'far' }).waitFor({ state: 'detached' });
    expect((await server.client.images.list()).map((image) => image.name)).toEqual(['small']);
    expect(await violationsIn(page)).toEqual([]);
  });

  it('is live and copies commands without the trust of the browser', async () => {
    await page.getByRole('status').getByText('Live').waitFor();
    await page.goto(`${url}/hosts`);
    await page.getByRole('heading', { name: 'Hosts', level: 1 }).waitFor();
    await server.client.hosts.join({ host: 'late' });
    await page.getByRole('link', { name: 'late' }).waitFor();
    await page.getByRole('button', { name: 'anneal host list' }).click();
    await page.getByText(/^Copied: anneal host list/).waitFor();
    await eventually(async () => (await page.getByText('Live').count()) > 0 || undefined);
  });
});
