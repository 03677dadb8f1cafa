/** An upgrade of the server while the web console is open: it offers the new version, and loses nothing that was typed. */
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repository, settled, startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const template = JSON.stringify({
  heat_template_version: '2018-08-31',
  resources: { value: { type: 'OS::Heat::Value', properties: { value: 1 } } },
});

/** Renames the files of a built console, as a build with other contents does. No old name is served any more. */
async function replaceBuild(folder: string): Promise<void> {
  const assets = join(folder, 'assets');
  const names = (await readdir(assets)).filter((name) => /-[\w-]{8,}\.(?:js|css)$/.test(name));
  const hashed = names.filter((name) => !name.startsWith('zod-'));
  const next = (name: string): string => name.replace(/\.(js|css)$/, 'n.$1');
  for (const path of [join(folder, 'index.html'), ...names.map((name) => join(assets, name))]) {
    let text = await readFile(path, 'utf8');
    for (const name of hashed) text = text.replaceAll(name, next(name));
    await writeFile(path, text);
  }
  for (const name of hashed) await rename(join(assets, name), join(assets, next(name)));
}

describe.skipIf(typeof found === 'string')('the web console after an upgrade of the server', () => {
  let server: TestServer;
  let page: Page;
  let folder: string;
  const browser = found as Browser;
  const upgrade = async (): Promise<void> => {
    await server.kill();
    await replaceBuild(folder);
    await server.start();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-console-'));
    await cp(join(repository, 'services/console/dist'), folder, { recursive: true });
    for (const name of await readdir(join(folder, 'assets'))) {
      if (/\.(?:br|gz)$/.test(name)) await rm(join(folder, 'assets', name));
    }
    server = await startServer({ lab: 1, env: { ANNEAL_GATEWAY_CONSOLE: folder } });
    await server.client.stacks.create({ name: 'web', bundle: { template, files: {}, environmentFiles: [] } });
    await settled(server, 'web');
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  it('says that a new version is here, and keeps what was typed until the reader reloads', async () => {
    await enterConsole(page, server, '/hosts?tab=join');
    await page.getByLabel('Name of the machine').fill('web1');
    await upgrade();
    const banner = page.getByRole('status').filter({ hasText: 'A new version is here.' });
    await banner.getByText('This page keeps what you typed until you reload it.').waitFor();
    expect(await page.getByLabel('Name of the machine').inputValue()).toBe('web1');
    expect(await violationsIn(page)).toEqual([]);
    const [other] = await Promise.all([
      page.context().waitForEvent('page'),
      banner.getByRole('link', { name: 'Open it in another tab' }).click(),
    ]);
    await other.getByLabel('Name of the machine').waitFor();
    expect(await other.getByText('A new version is here.').count()).toBe(0);
    await other.close();
    await banner.getByRole('button', { name: 'Reload' }).click();
    await banner.waitFor({ state: 'detached' });
    await page.getByLabel('Name of the machine').waitFor();
  });

  it('opens a page whose file the new server does not have by loading the new version', async () => {
    await page.goto(`${server.url}/stacks/web`);
    await page.getByRole('heading', { name: 'web' }).waitFor();
    await upgrade();
    await page.getByText('A new version is here.').waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Images' }).click();
    await page.getByRole('heading', { name: 'Images' }).waitFor();
    expect(await page.getByText('A new version is here.').count()).toBe(0);
  });

  it('offers the new version in place of a part of a page that the new server does not have', async () => {
    await page.goto(`${server.url}/stacks/web`);
    await page.getByRole('heading', { name: 'web' }).waitFor();
    await upgrade();
    await page.getByText('A new version is here.').waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'A new version is here' }).waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('region', { name: 'Snapshots' }).waitFor();
  });
});
