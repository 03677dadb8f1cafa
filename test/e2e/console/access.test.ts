/** Projects, users and tokens in the web console, and the filter of nodes whose BMC does not answer. */
import { connect } from '@anneal/client/connect.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

describe.skipIf(typeof found === 'string')('access in the web console', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;

  beforeAll(async () => {
    server = await startServer({ lab: 2, env: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '1' } });
    page = await (await browser.newContext({ viewport: { width: 1440, height: 1000 } })).newPage();
    await enterConsole(page, server, '/projects');
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  const confirm = async (button: string, name: string): Promise<void> => {
    await page.getByRole('button', { name: button }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill(name);
    await dialog.getByRole('button', { name: button }).click();
  };

  it('creates a project and a user, whose password is shown once and logs in', async () => {
    await page.getByRole('button', { name: 'New project …' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('shop');
    await page.getByRole('button', { name: 'Create the project' }).click();
    await page.getByRole('link', { name: 'shop' }).waitFor();
    await page.goto(`${server.url}/users`);
    await page.getByRole('button', { name: 'New user …' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('ann');
    await page.getByLabel('Member of the project').fill('shop');
    await page.getByRole('button', { name: 'Create the user' }).click();
    const once = page.getByRole('region', { name: 'The password of ann.' });
    const password = (await once.locator('dd').textContent()) ?? '';
    await page.getByText('ann is a member of shop.').waitFor();
    const login = { authUrl: `${server.url}/identity/v3`, username: 'ann', password, project: 'shop' };
    const { connection } = await connect(login);
    expect(connection.user.name).toBe('ann');
    await once.getByRole('button', { name: 'I have stored it' }).click();
    expect(await page.getByText(password).count()).toBe(0);
  });

  it('sets a quota of a project, and returns to the default', async () => {
    await page.goto(`${server.url}/projects`);
    await page.getByRole('link', { name: 'shop' }).click();
    const quotas = page.getByRole('region', { name: 'Quotas' });
    await quotas.getByLabel('The quota').selectOption({ label: 'Hosts' });
    await quotas.getByLabel('The limit').fill('7');
    await quotas.getByText('anneal project quota shop hosts=7').waitFor();
    await quotas.getByRole('button', { name: 'Set' }).click();
    await quotas
      .getByRole('listitem')
      .filter({ hasText: /^Hosts0 of 7$/ })
      .waitFor();
    const limit = async () =>
      (await server.client.identity.projects.quota('shop')).find(({ name }) => name === 'hosts');
    expect(await limit()).toMatchObject({ limit: 7, used: 0 });
    await quotas.getByLabel('The limit').fill('');
    await quotas.getByRole('button', { name: 'Set' }).click();
    await quotas
      .getByRole('listitem')
      .filter({ hasText: /^Hosts0 of 100,000 \(default\)$/ })
      .waitFor();
    expect(await limit()).toMatchObject({ limit: 100_000 });
    await page.goto(`${server.url}/users`);
  });

  it('gives the role manager in a project, disables the project and enables it again', async () => {
    await page.goto(`${server.url}/projects`);
    await page.getByRole('link', { name: 'shop' }).click();
    await page.getByLabel('The user').fill('an');
    await page.locator('datalist option[value=ann]').waitFor({ state: 'attached' });
    await page.getByLabel('The user').fill('ann');
    await page.getByLabel('The role').selectOption('manager');
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    const roles = page.getByRole('list', { name: 'Roles' });
    await roles.getByRole('listitem').filter({ hasText: 'annmanager' }).waitFor();
    await confirm('Disable', 'shop');
    const enable = page.getByRole('button', { name: 'Enable', exact: true });
    await enable.hover();
    await page.getByRole('tooltip').getByText('anneal project enable shop').waitFor();
    expect(await server.client.identity.projects.show('shop')).toMatchObject({ enabled: false });
    await enable.click();
    await page.getByRole('button', { name: 'Disable', exact: true }).waitFor();
    expect(await server.client.identity.projects.show('shop')).toMatchObject({ enabled: true });
    const set = await server.anneal('project', 'set', 'shop', '--description', 'the shop');
    expect(set).toMatchObject({ status: 0, stdout: 'Changed the project shop.\n' });
    await server.anneal('project', 'disable', 'shop');
    expect(await server.client.identity.projects.show('shop')).toMatchObject({
      enabled: false,
      description: 'the shop',
    });
    await server.anneal('project', 'enable', 'shop');
    await page
      .getByRole('list', { name: 'Roles' })
      .getByRole('listitem')
      .filter({ hasText: 'annmanager' })
      .getByRole('button', { name: 'Revoke' })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('ann');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await roles.getByText('manager').waitFor({ state: 'detached' });
    await page.goto(`${server.url}/users`);
  });

  it('disables a user after its name is typed, and revokes its role', async () => {
    await page.getByRole('link', { name: 'ann', exact: true }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Disable' }).isDisabled()).toBe(true);
    await dialog.getByText('anneal user disable ann').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await confirm('Disable', 'ann');
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    await confirm('Revoke', 'ann');
    await page.getByText('The user has no role, so it cannot log in.').waitFor();
    expect(await server.client.identity.users.show('ann')).toMatchObject({ enabled: false });
  });

  it('creates a token and revokes it', async () => {
    await page.goto(`${server.url}/tokens`);
    await page.getByLabel('The name of the token').fill('ci');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await page.getByRole('region', { name: 'The token ci.' }).waitFor();
    await page.getByRole('region', { name: 'Tokens' }).getByText('ci').waitFor();
    await confirm('Revoke', 'ci');
    await page.getByText('No token yet. Create one:').waitFor();
    expect(await server.client.identity.tokens.list()).toEqual([]);
  });

  it('finds the node whose BMC does not answer, with its failures and its next try', async () => {
    await server.client.nodes.set({
      node: 'machine-2',
      fields: { 'driver_info/redfish_address': 'http://127.0.0.1:1' },
    });
    await eventually(
      async () => (await server.client.nodes.show({ node: 'machine-2' })).bmc?.breaker === 'open' || undefined,
    );
    await page.goto(`${server.url}/nodes`);
    await page.getByRole('link', { name: 'BMC does not answer (1)' }).click();
    await page.getByRole('link', { name: 'machine-1' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'machine-2' }).click();
    await page.getByText('no server gets the node until its BMC answers').waitFor();
  });

  it('has no violation of accessibility on these pages', async () => {
    const [project] = await server.client.identity.projects.list();
    const [user] = await server.client.identity.users.list();
    const violations: string[] = [];
    for (const path of ['/projects', `/projects/${project?.id}`, `/users/${user?.id}`, '/tokens']) {
      await page.goto(`${server.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (path.startsWith('/projects/')) await page.getByRole('list', { name: 'Quotas' }).waitFor();
      violations.push(...(await violationsIn(page)).map((each) => `${path} ${each}`));
    }
    expect(violations).toEqual([]);
  });
});
