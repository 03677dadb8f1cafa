/** A login by an OpenID provider of another site, in a real browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clients, startOpenIdProvider, type OpenIdProvider } from '../../backends/oidc-provider.ts';
import { startServer, type TestServer } from '../server.ts';
import { findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

describe.skipIf(typeof found === 'string')('the login page with an OpenID provider', () => {
  let server: TestServer;
  let provider: OpenIdProvider;
  const browser = found as Browser;

  beforeAll(async () => {
    provider = await startOpenIdProvider();
    provider.accounts.set('ann', { preferred_username: 'ann.name', groups: ['ops'] });
    provider.accounts.set('bob', { preferred_username: 'bob.name' });
    server = await startServer({
      lab: 0,
      env: {
        ANNEAL_GATEWAY_OIDC_ISSUER: provider.issuer,
        ANNEAL_GATEWAY_OIDC_CLIENT_ID: 'anneal',
        ANNEAL_GATEWAY_OIDC_CLIENT_SECRET: clients.anneal,
        ANNEAL_GATEWAY_OIDC_SCOPES: 'openid profile groups',
        ANNEAL_GATEWAY_OIDC_NAME: 'company',
        ANNEAL_GATEWAY_OIDC_ROLES: 'ops=admin@admin',
      },
    });
    provider.comeBackTo(`${server.url}/identity/oidc/callback`);
  });
  afterAll(async () => {
    await browser.close();
    await server?.dispose();
    await provider?.stop();
  });

  const logInAs = async (name: string) => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(server.url);
    await page.getByRole('link', { name: 'Log in with company' }).click();
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    return page;
  };

  it('comes back with a session, whose cookie the browser then sends', async () => {
    const page = await logInAs('ann');
    await page.getByRole('link', { name: 'Stacks' }).first().waitFor();
    expect(new URL(page.url()).origin).toBe(server.url);
    await page.reload();
    await page.getByRole('link', { name: 'Stacks' }).first().waitFor();
  });

  it('shows to a user without a role that the login was refused', async () => {
    const page = await logInAs('bob');
    await page.getByRole('alert').getByText('The login was refused').waitFor();
    expect(await violationsIn(page)).toEqual([]);
  });
});
