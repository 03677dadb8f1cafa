/** The web console in a real browser, on a real server: the tasks of an operator. */
import { serviceNames } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
import { findBrowser, enterConsole, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const template = `heat_template_version: 2018-08-31
parameters: {word: {type: string, default: one}}
resources:
  first: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  second: {type: OS::Heat::TestResource, properties: {value: {get_attr: [first, output]}}}
outputs: {said: {value: {get_attr: [second, output]}}}
`;
const failing = `heat_template_version: 2018-08-31
resources:
  broken: {type: OS::Heat::TestResource, properties: {value: x, fail: true}}
`;

describe.skipIf(typeof found === 'string')('the web console', () => {
  let server: TestServer;
  let context: BrowserContext;
  let page: Page;
  const browser = found as Browser;
  const problems: string[] = [];

  beforeAll(async () => {
    server = await startServer({ lab: 2 });
    const hold = JSON.stringify({ resource_registry: { resources: { second: { hooks: 'pre-create' } } } });
    await server.client.stacks.create({ name: 'done', bundle: { template, environmentFiles: [], files: {} } });
    await server.client.stacks.create({
      name: 'held',
      bundle: { template, environmentFiles: ['env.json'], files: { 'env.json': hold } },
    });
    await server.client.stacks.create({ name: 'bad', bundle: { template: failing, environmentFiles: [], files: {} } });
    await settled(server, 'done');
    await settled(server, 'bad');
    context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
    page = await context.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      // The browser itself reports the refusal of a page without a session.
      if (message.type() === 'error' && !message.text().includes('401')) problems.push(message.text());
    });
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  const reads = (on: Page, text: string | RegExp) => on.getByText(text).first().waitFor({ timeout: 60_000 });

  it('says in words that a password is wrong or the server away, and shows the asked page after the right one', async () => {
    await page.goto(`${server.url}/stacks`);
    await page.getByLabel('Password').fill('wrong password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await reads(page, 'The user name or the password is wrong.');
    expect(await violationsIn(page)).toEqual([]);
    const login = '**/identity/v3/auth/tokens';
    await page.route(login, (route) => route.abort('connectionrefused'));
    await page.getByRole('button', { name: 'Log in' }).click();
    await reads(page, /Could not log in as admin: no server answers at/);
    await page.unroute(login);
    await page.getByLabel('Password').fill(server.password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Stacks' }).waitFor();
    await page.getByRole('link', { name: 'done' }).waitFor();
    const cookies = await context.cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('names what needs a person, and a click clears a hook', async () => {
    await page.goto(`${server.url}/`);
    await page.getByRole('heading', { name: '2 things need you' }).waitFor();
    await reads(page, /second is held at hook/);
    await page.goto(`${server.url}/stacks`);
    await page
      .getByRole('row', { name: /held/ })
      .getByText(/second is held at hook/)
      .waitFor();
    await page.goto(`${server.url}/stacks/held`);
    await page.locator('.why.tone-wait').waitFor();
    await page.goto(`${server.url}/`);
    await page.getByRole('button', { name: 'Clear pre-create' }).click();
    await page.getByRole('heading', { name: '1 thing needs you' }).waitFor({ timeout: 60_000 });
    await settled(server, 'held');
  });

  it('explains a failed stack, and shows its resources, outputs and events', async () => {
    await page.goto(`${server.url}/stacks/bad`);
    await reads(page, /has failed and waits for an operator/);
    await page.getByRole('button', { name: 'Retry' }).first().waitFor();
    // An address with a mistake shows the first tab, and not an empty page.
    await page.goto(`${server.url}/stacks/bad?tab=nonsense`);
    await reads(page, /has failed and waits for an operator/);
    await page.goto(`${server.url}/stacks/done?tab=outputs`);
    await reads(page, 'one');
    await page.getByRole('link', { name: 'Resources' }).click();
    await page.getByRole('button', { name: 'second' }).click();
    await reads(page, 'OS::Heat::TestResource');
    const parts = page.getByRole('navigation', { name: 'Parts of the stack' });
    await parts.getByRole('link', { name: 'Events' }).click();
    await page.waitForURL('**tab=events');
    expect(await parts.locator('[aria-current=page]').allTextContents()).toEqual(['Events']);
  });

  it('shows a change without a reload, and two browsers and two tabs show the same', async () => {
    const other = await (await browser.newContext()).newPage();
    await enterConsole(other, server, '/stacks');
    await page.goto(`${server.url}/stacks`);
    await page.getByRole('link', { name: 'done' }).waitFor();
    await server.client.stacks.create({ name: 'late', bundle: { template, environmentFiles: [], files: {} } });
    const second = await context.newPage();
    await second.goto(`${server.url}/stacks`);
    await second.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    for (const each of [page, second, other]) {
      await each.getByRole('link', { name: 'late' }).waitFor({ timeout: 60_000 });
    }
    await second.close();
    await other.context().close();
  });

  it('asks for the name before a deletion, and deletes then', async () => {
    const other = await context.newPage();
    await other.goto(`${server.url}/stacks/late?tab=outputs`);
    await reads(other, 'said');
    await page.goto(`${server.url}/stacks/late`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('late');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await eventually(async () => {
      const stacks = await server.client.stacks.list();
      return stacks.every(({ stack_name: name }) => name !== 'late') ? true : undefined;
    });
    // A reader of the deleted stack keeps its last state, and sees that it is the last.
    await reads(other, 'It does not exist any more.');
    await other.getByRole('heading', { level: 1, name: 'late' }).waitFor();
    expect(await other.getByRole('alert').count()).toBe(1);
    await other.close();
  });

  it('finds a stack in the palette by keyboard', async () => {
    await page.goto(`${server.url}/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('stack done');
    await page.getByRole('option', { name: 'done' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/stacks/done');
  });

  it('keeps the found stacks in the palette while the server looks for more words', async () => {
    await page.goto(`${server.url}/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('stack d');
    await page.getByRole('option', { name: 'done' }).waitFor();
    const asked = Promise.withResolvers<unknown>();
    const answered = Promise.withResolvers<unknown>();
    await page.route(/find=done/, async (route) => {
      asked.resolve(undefined);
      await answered.promise;
      await route.continue();
    });
    await page.keyboard.type('one');
    await asked.promise;
    await page.keyboard.press('Enter');
    await page.waitForURL('**/stacks/done');
    answered.resolve(undefined);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('continues after the server was killed', async () => {
    await page.goto(`${server.url}/stacks`);
    await page.getByRole('link', { name: 'done' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await server.kill();
    await reads(page, /Reconnecting, last news \d\d:\d\d:\d\d/);
    await page.getByRole('link', { name: 'done' }).waitFor();
    // The file of this page has not been loaded yet.
    await page.getByRole('link', { name: 'Workflows' }).first().click();
    await reads(page, 'No server answers. The page opens by itself as soon as one does.');
    await server.start();
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByRole('heading', { level: 1, name: 'Workflows' }).waitFor({ timeout: 60_000 });
    await page.getByRole('link', { name: 'Stacks' }).first().click();
    await server.client.stacks.create({ name: 'after', bundle: { template, environmentFiles: [], files: {} } });
    await page.getByRole('link', { name: 'after' }).waitFor({ timeout: 60_000 });
  });

  it('asks for a login over the page when the session has ended, and keeps what was typed', async () => {
    const own = await (await browser.newContext()).newPage();
    await enterConsole(own, server, '/create');
    await own.getByLabel('Name of the stack').fill('half-typed');
    await own.context().clearCookies();
    await own.getByText('Your session has ended.').waitFor({ timeout: 60_000 });
    expect(await own.getByLabel('User').inputValue()).toBe('admin');
    await own.getByLabel('Password').fill(server.password);
    await own.getByRole('button', { name: 'Log in', exact: true }).click();
    await own.getByText('Your session has ended.').waitFor({ state: 'detached' });
    expect(await own.getByLabel('Name of the stack').inputValue()).toBe('half-typed');
    await own.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    await own.context().close();
  });

  it('says in the frame that a page could not be loaded, and loads it later', async () => {
    const own = await context.newPage();
    await own.goto(`${server.url}/`);
    await own.getByRole('heading', { level: 1 }).waitFor();
    await own.route('**/assets/services-*', (route) => route.abort('connectionrefused'));
    await own.getByRole('link', { name: 'Services' }).first().click();
    await own.getByRole('heading', { name: 'The page could not be shown' }).waitFor({ timeout: 60_000 });
    await own.unroute('**/assets/services-*');
    await own.getByRole('button', { name: 'Load the console again' }).click();
    await own.getByRole('heading', { name: 'Services' }).waitFor({ timeout: 60_000 });
    await own.close();
  });

  it('shows one ready replica of each service, and none of the server that was killed', async () => {
    await page.goto(`${server.url}/services`);
    const services = page.getByRole('region', { name: 'Services' });
    for (const name of serviceNames) {
      const rows = services.getByRole('row').filter({ has: page.getByRole('link', { name }) });
      await rows.filter({ hasText: 'Ready' }).waitFor();
      expect(await rows.count()).toBe(1);
    }
    expect(await page.getByRole('region', { name: 'What needs a look' }).count()).toBe(0);
    const { stdout } = await server.anneal('service', 'list');
    expect(stdout.split('\n').filter((line) => / ready +\d+\.\d+\.\d+ /.test(line))).toHaveLength(serviceNames.length);
  });

  it('has no violation of accessibility on any page, in both themes, at 1440 and 390 px', async () => {
    const paths = [
      '/',
      '/stacks',
      '/stacks/bad',
      '/scaling',
      '/queues',
      '/hosts',
      '/nodes',
      '/nodes?tab=racks',
      '/events',
      '/dead-letters',
      '/services',
    ];
    const violations: string[] = [];
    for (const path of paths) {
      await page.goto(`${server.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      violations.push(...(await violationsIn(page)).map((each) => `${path} ${each}`));
    }
    expect(violations).toEqual([]);
  });

  it('loads less than 300 KB before the first view', async () => {
    const fresh = await (await browser.newContext()).newPage();
    let bytes = 0;
    fresh.on('response', (response) => {
      void response
        .request()
        .sizes()
        .then(({ responseBodySize }) => (bytes += responseBodySize))
        .catch(() => undefined);
    });
    await enterConsole(fresh, server);
    await fresh.getByRole('heading', { level: 1, name: /need|order/ }).waitFor();
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(300 * 1024);
    await fresh.context().close();
  });

  it('reported no error in the browser', () => {
    // A server that was killed refuses connections.
    expect(problems.filter((text) => !text.includes('ERR_'))).toEqual([]);
  });
});
