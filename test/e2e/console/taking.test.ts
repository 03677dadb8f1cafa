/** Stacks that leave and are taken over, workflows that are stored and scheduled, and alarms that are set, in the web console. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const template = `heat_template_version: 2018-08-31
resources:
  password: {type: OS::Heat::RandomString}
  high:
    type: OS::Aodh::Alarm
    # Its own evaluation, which finds no data, would undo what the test sets.
    properties: {meter_name: load, threshold: 5, comparison_operator: gt, statistic: avg, period: 86400}
outputs:
  password: {value: {get_attr: [password, value]}}
`;

describe.skipIf(typeof found === 'string')('what a person takes over, stores and sets in the web console', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;
  const outputOf = async (stack: string): Promise<unknown> =>
    (await server.client.stacks.show({ stack, outputs: true })).outputs?.[0]?.output_value;

  beforeAll(async () => {
    server = await startServer({ lab: 0 });
    await server.client.stacks.create({ name: 'moved', bundle: { template, files: {}, environmentFiles: [] } });
    await settled(server, 'moved');
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await enterConsole(page, server);
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it('shows the state of an alarm and its history, and sets it after a warning', async () => {
    await page.goto(`${server.url}/stacks/moved?tab=scaling`);
    const alarms = page.getByRole('region', { name: 'Alarms' });
    await alarms.getByRole('button', { name: 'Set off' }).click();
    await page.getByText('It has no action for that state.').waitFor();
    await page.getByText(/anneal alarm set \S+ --state alarm/).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Set off' }).click();
    await alarms.getByRole('button', { name: 'Reset' }).waitFor();
    await alarms.getByText('History').click();
    await alarms
      .getByRole('list', { name: /History of/ })
      .getByText('state transition')
      .first()
      .waitFor();
    expect(await server.client.alarms.list({ stack: 'moved' })).toMatchObject([{ state: 'alarm' }]);
    expect(await violationsIn(page)).toEqual([]);
  });

  it('abandons a stack with a file, and adopts it again from that file with the same objects', async () => {
    const before = await outputOf('moved');
    await page.goto(`${server.url}/stacks/moved`);
    await page.getByRole('button', { name: 'Abandon' }).click();
    const dialog = page.getByRole('dialog');
    const sure = dialog.getByRole('button', { name: 'Abandon' });
    expect(await sure.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('moved');
    const downloading = page.waitForEvent('download');
    await sure.click();
    const file = await (await downloading).path();
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ name: 'moved', resources: { password: {} } });
    await page.waitForURL('**/stacks');
    await page.getByText('No stack yet').waitFor();

    await page.getByRole('link', { name: 'Take over' }).click();
    await page.getByLabel('File', { exact: true }).setInputFiles(file);
    expect(await violationsIn(page)).toEqual([]);
    await page.getByLabel('Name of the stack').fill('again');
    await page.getByRole('button', { name: 'Adopt', exact: true }).click();
    await page.waitForURL('**/stacks/again');
    expect(await settled(server, 'again')).toMatchObject({ stack_status: 'ADOPT_COMPLETE' });
    expect(await outputOf('again')).toEqual(before);
  });

  it('shows what an import from Heat would take over, and every mistake, before anything changes', async () => {
    const data = {
      name: 'web',
      action: 'CREATE',
      status: 'COMPLETE',
      template: {
        heat_template_version: '2018-08-31',
        resources: {
          word: { type: 'OS::Heat::RandomString' },
          server: { type: 'OS::Nova::Server', properties: { image: 'any', flavor: 'baremetal' } },
        },
      },
      resources: {
        word: {
          name: 'word',
          resource_id: 'abc',
          action: 'CREATE',
          status: 'COMPLETE',
          type: 'OS::Heat::RandomString',
          resource_data: { value: 'abc' },
          metadata: {},
        },
        server: {
          name: 'server',
          resource_id: 'a-server',
          action: 'CREATE',
          status: 'COMPLETE',
          type: 'OS::Nova::Server',
          resource_data: {},
          metadata: {},
        },
      },
      environment: {},
    };
    await page.goto(`${server.url}/take-over`);
    await page.getByLabel(/Heat wrote the file/).check();
    const buffer = Buffer.from(JSON.stringify(data));
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'web.json', mimeType: 'application/json', buffer });
    await page.getByRole('button', { name: 'Show what would be taken over' }).click();
    await page.getByRole('region', { name: 'What would be taken over' }).getByText('word').first().waitFor();
    // The server has no host yet.
    await page.locator('.tone-failed', { hasText: /host/ }).first().waitFor();
    expect(await page.getByRole('button', { name: /^Take over \d/ }).count()).toBe(0);
    expect(await server.client.stacks.page({ limit: 10 })).toMatchObject({ total: 1 });
    // The plan was for other hosts.
    await page.getByLabel('Hosts of servers').fill('server=web1');
    await page.getByRole('region', { name: 'What would be taken over' }).waitFor({ state: 'detached' });
    await page.getByText('anneal stack import web.json --name web --host server=web1 --dry-run').waitFor();
  });

  it('stores a workflow, schedules it, and deletes both', async () => {
    await page.goto(`${server.url}/workflows`);
    const definitions = page.getByRole('region', { name: 'Definitions' });
    await definitions.getByText('No workflow is stored').waitFor();
    await definitions.getByRole('button', { name: 'Store workflows' }).click();
    await definitions.getByRole('button', { name: 'Store', exact: true }).click();
    const stored = definitions.getByRole('list', { name: 'Stored workflows' });
    await stored.getByText('greet').first().waitFor();

    const schedules = page.getByRole('region', { name: 'Schedules' });
    await schedules.getByLabel('Name').fill('nightly');
    await schedules.getByLabel('starts').selectOption('greet');
    await schedules.getByLabel('with input').fill('{"name": "you"}');
    await schedules.getByRole('button', { name: 'Schedule', exact: true }).click();
    await schedules.getByText('starts greet').waitFor();
    expect(await violationsIn(page)).toEqual([]);
    expect(await server.client.cronTriggers.list()).toMatchObject([{ name: 'nightly', pattern: '0 3 * * *' }]);

    await schedules.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await schedules.getByText('No schedule starts a workflow.').waitFor();
    await stored.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('greet');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await definitions.getByText('No workflow is stored').waitFor();
  });
});
