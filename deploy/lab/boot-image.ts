/** Fetching what to boot, and saying how it went: the firmware's network stack. */
import { setTimeout as sleep } from 'node:timers/promises';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/provisioning.ts';

export type Fetched = { readonly seed: BootSeed } | { readonly gaveUp: string };

const pause = (attempt: number): number => Math.min(5_000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2);

/** Tries until the server has a say, for as long as the machine is on: a server that is away may come back. */
export async function fetchSeed(url: string, signal: AbortSignal): Promise<Fetched> {
  for (let attempt = 0; ; attempt += 1) {
    const said = await ask(url, { method: 'GET' }, signal);
    if (said && said.status < 400) {
      const parsed = bootSeedSchema.safeParse(parse(said.body));
      return parsed.success ? { seed: parsed.data } : { gaveUp: `${url} is not a boot image: ${parsed.error.message}` };
    }
    if (said && said.status < 500 && said.status !== 429) return { gaveUp: `${url} answered ${said.status}` };
    await sleep(pause(attempt), undefined, { signal });
  }
}

/** Resolves when the report was taken, or refused for good. */
export async function report(
  url: string,
  body: { status: 'cleaned' | 'failed'; message: string },
  signal: AbortSignal,
): Promise<void> {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  for (let attempt = 0; ; attempt += 1) {
    const said = await ask(`${url.replace(/\/$/, '')}/report`, options, signal);
    if (said && said.status < 500 && said.status !== 429) return;
    await sleep(pause(attempt), undefined, { signal });
  }
}

async function ask(
  url: string,
  options: RequestInit,
  signal: AbortSignal,
): Promise<{ status: number; body: string } | undefined> {
  try {
    const answer = await fetch(url, { ...options, signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) });
    return { status: answer.status, body: await answer.text() };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
