/** The firmware's network stack: fetches what to boot, exchanges the secret in its address, and reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import { bootDocumentSchema, bootSeedSchema, type BootDocument, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import type { heartbeatShape } from '@anneal/contracts/node-progress.ts';
import { jsonOrText } from '@anneal/contracts/plain-json.ts';
import { z } from 'zod';

export type Fetched<T> = { readonly value: T } | { readonly gaveUp: string };

const pause = (attempt: number): number => Math.min(5_000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2);
const json = { 'content-type': 'application/json' };

/** The address without the form in which firmware boots it: a simulated machine needs no ramdisk. */
export const addressOf = (url: string): string => url.replace(/\/boot\.(iso|efi)$/, '');

/** Fetches the boot document, which every client that knows the address may read, including a BMC. */
export function fetchDocument(url: string, signal: AbortSignal): Promise<Fetched<BootDocument>> {
  return persist({ url, method: 'GET' }, { schema: bootDocumentSchema, what: 'a boot document', signal });
}

const scriptSchema = z
  .string()
  .transform((text) => /\sanneal\.boot=(\S+)/.exec(text)?.[1] ?? '')
  .pipe(z.url());

/** The boot address in the script that iPXE gets for the UUID of its machine, at the address that DHCP names. */
export function fetchScript(
  { address, uuid }: { address: string; uuid: string },
  signal: AbortSignal,
): Promise<Fetched<string>> {
  const url = `${address}?uuid=${uuid}`;
  return persist({ url, method: 'GET' }, { schema: scriptSchema, what: 'a script with a boot address', signal });
}

/** @param body the key of this boot, and the UUID of the machine. */
export function exchange(
  url: string,
  body: { key: string; machine?: string },
  signal: AbortSignal,
): Promise<Fetched<BootSeed>> {
  const at = `${url.replace(/\/$/, '')}/exchange`;
  const request = { url: at, method: 'POST', headers: json, body: JSON.stringify(body) };
  return persist(request, { schema: bootSeedSchema, what: 'a seed', signal });
}

type Heartbeat = z.infer<z.ZodObject<typeof heartbeatShape>>;

const settledSchema = z.object({ settled: z.boolean(), power_off: z.boolean().default(false) });

/**
 * Resolves when the report was accepted or refused for good, and for `written` when the machine may leave its ramdisk: with
 * how it does that.
 */
export async function report(
  seed: BootSeed,
  body: {
    status: 'cleaned' | 'ready' | 'written' | 'failed';
    message: string;
    code?: string | undefined;
    unreachable?: boolean | undefined;
    powers_off?: boolean;
  },
  signal: AbortSignal,
): Promise<'power off' | 'restart'> {
  const url = `${seed.gateway_url.replace(/\/$/, '')}/boot/v1/report`;
  const token = seed.report_token ?? seed.token;
  const options = { method: 'POST', headers: { ...json, 'x-auth-token': token }, body: JSON.stringify(body) };
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask(url, options, signal);
    if (answer && answer.status < 500 && answer.status !== 429) {
      const { data } = settledSchema.safeParse(jsonOrText(answer.body));
      if (data?.settled === true) return data.power_off ? 'power off' : 'restart';
      if (body.status !== 'written' || answer.status >= 400) return 'power off';
    }
    await sleep(pause(attempt), undefined, { signal });
  }
}

/** Sends how far the machine is with its disk, once: a lost one changes nothing. */
export async function sendHeartbeat(seed: BootSeed, sent: Heartbeat, signal: AbortSignal): Promise<void> {
  const url = `${seed.gateway_url.replace(/\/$/, '')}/boot/v1/progress`;
  const headers = { ...json, 'x-auth-token': seed.report_token ?? seed.token };
  await ask(url, { method: 'POST', headers, body: JSON.stringify(sent) }, signal);
}

/** Retries until the server gives a final answer or the machine loses power, because an absent server may come back. */
async function persist<T>(
  { url, ...options }: RequestInit & { url: string },
  { schema, what, signal }: { schema: z.ZodType<T>; what: string; signal: AbortSignal },
): Promise<Fetched<T>> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask(url, options, signal);
    if (answer && answer.status < 400) {
      const parsed = schema.safeParse(jsonOrText(answer.body));
      return parsed.success ? { value: parsed.data } : { gaveUp: `the answer is not ${what}: ${parsed.error.message}` };
    }
    if (answer && answer.status < 500 && answer.status !== 429)
      return { gaveUp: `the server answered ${answer.status} instead of ${what}: ${answer.body.slice(0, 500)}` };
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
