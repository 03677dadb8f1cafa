/** `npm run demo -- --open`: the demo in the web console. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { DemoContext } from './context.ts';
import { heading, say, untilFact } from './report.ts';
import { readLogin } from './start.ts';

/** Waits until the console is built, then shows it in the browser of this machine, if it has one. */
export async function openConsole({ client, dataDirectory, signal }: DemoContext): Promise<void> {
  heading('The web console');
  const { url } = client.connection;
  await untilFact({
    fact: 'the console is built',
    seconds: 180,
    signal,
    look: async () => (await fetch(url, { headers: { accept: 'text/html' }, signal })).text(),
    holds: (page) => page.includes('id="root"'),
  });
  const { username, password } = await readLogin(dataDirectory);
  say(`Open ${url} and log in as ${username} with the password ${password}`);
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  // Without a browser on this machine, the line above is enough.
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}

/** Keeps everything as it is until Ctrl-C. */
export async function untilInterrupted(signal: AbortSignal): Promise<void> {
  say('');
  say('Everything keeps running, so that you can look at it. Press Ctrl-C to stop.');
  if (!signal.aborted) await once(signal, 'abort');
}
