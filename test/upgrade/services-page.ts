/** The page of services in the web console while two revisions run side by side: both are seen, and what to do. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@anneal/client/connect.ts';
import { remarksOn } from '@anneal/client/replica-rows.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { enterConsole, findBrowser } from '../e2e/console/browser.ts';
import { repository } from '../e2e/server.ts';

const manifest = 'libs/runtime/package.json';
const versionOf = async (tree: string): Promise<string> =>
  (JSON.parse(await readFile(join(tree, manifest), 'utf8')) as { version: string }).version;

/** Gives a tree the number of a release of its own, as each release has. Revisions between releases share one number. */
export async function numberRelease(tree: string): Promise<void> {
  if ((await versionOf(tree)) !== (await versionOf(repository))) return;
  const file = join(tree, manifest);
  await writeFile(file, (await readFile(file, 'utf8')).replace(/"version": "[^"]*"/, '"version": "0.0.9"'));
}

/**
 * @param parameters.url the gateway of this tree
 * @returns what the page shows
 * @throws when it shows another thing, or nothing
 */
export async function checkServicesPage(parameters: {
  url: string;
  password: string;
  client: Client;
  earlier: string;
}): Promise<string> {
  const { url, password, client, earlier } = parameters;
  const [old, own] = [await versionOf(earlier), await versionOf(repository)];
  const remark = await eventually(async () => remarksOn(await client.services())[0], {
    what: 'the gateway noticing two revisions',
  });
  const services = await client.services();
  const browser = await findBrowser();
  if (typeof browser === 'string') {
    if (process.env['CI'] === 'true') throw new Error(browser);
    return `${remark} (not looked at in the console: ${browser})`;
  }
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    await enterConsole(page, { url, password }, '/services');
    await page.getByRole('region', { name: 'What needs a look' }).getByText(remark).waitFor();
    const table = page.getByRole('region', { name: 'Services' });
    for (const { name, replicas } of services) {
      // Revisions before the list of replicas report nothing, and the earlier one may lack a service.
      const reports = replicas.some(({ version }) => version === old);
      const rows = table.getByRole('row').filter({ has: page.getByRole('link', { name }) });
      for (const version of reports ? [old, own] : [own]) {
        await rows.filter({ hasText: version }).filter({ hasText: 'Ready' }).first().waitFor();
      }
    }
  } finally {
    await browser.close();
  }
  return remark;
}
