/** A server, a browser and counted steps, for the walks of operators in the console. */
import type { Browser, Locator, Page } from 'playwright-core';
import { startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser } from './browser.ts';

/** An operator in a browser. The steps are counted: a step is a press that leads on or acts. */
export interface Walk {
  readonly server: TestServer;
  readonly page: Page;
  steps(): number;
  press(what: Locator): Promise<void>;
  link(name: string | RegExp): Locator;
  button(name: string | RegExp): Locator;
  reads(text: string | RegExp): Promise<void>;
  /** Begins a task on the first page, where a browser stays open. */
  home(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server and a browser, and logs in after `before`. */
export async function openWalk(
  browser: Browser,
  options: Parameters<typeof startServer>[0] & { before?: (server: TestServer) => Promise<void> },
): Promise<Walk> {
  const server = await startServer(options);
  await options.before?.(server);
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.setDefaultTimeout(60_000);
  await enterConsole(page, server);
  let steps = 0;
  return {
    server,
    page,
    steps: () => steps,
    press: async (what) => {
      steps += 1;
      await what.first().click();
    },
    link: (name) => page.getByRole('link', { name }),
    button: (name) => page.getByRole('button', { name, exact: typeof name === 'string' }),
    reads: (text) => page.getByText(text).first().waitFor(),
    home: async () => {
      await page.goto(`${server.url}/`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      steps = 0;
    },
    close: async () => {
      await browser.close();
      await server.dispose();
    },
  };
}

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

/** Undefined when this machine has none. */
export const walkBrowser = typeof found === 'string' ? undefined : found;
