/** Changes the boot override of a system, and reads it back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, type AnnealError } from '@anneal/contracts/errors.ts';
import { overridesToDisk, withMode, type Override } from './boot-override.ts';
import { messagesIn } from './conversation/messages.ts';
import { RedfishRefusal } from './conversation/refusal.ts';
import type { RedfishAnswer } from './conversation/transport.ts';
import { showsAddress } from './media/holding.ts';
import { quirksOf } from './quirks.ts';
import { within } from './reading.ts';
import { shownValue } from './system.ts';

type Body = Readonly<Record<string, unknown>>;
interface SystemClient {
  readonly path: string | undefined;
  /** The system, whose identity it checks. */
  system(): Promise<RedfishAnswer>;
  patch(path: string, body: unknown, etag?: string): Promise<RedfishAnswer>;
}
interface Turn {
  readonly signal: AbortSignal;
  readonly refused: (why: string) => AnnealError;
}

/** How long a BMC may take to show an override that it has accepted. */
const overrideMs = 3_000;

/** Changes the version that it has read. Retries when the version changed meanwhile. */
export async function changeBoot(client: SystemClient, wanted: Override, { signal, refused }: Turn): Promise<void> {
  let otherForm = false;
  for (let attempt = 1; ; attempt += 1) {
    const { body: system, etag } = await client.system();
    try {
      const isWhole = quirksOf(system).wholeBoot !== otherForm;
      await client.patch(
        client.path ?? '',
        { Boot: isWhole ? withMode(within(system, 'Boot'), wanted) : wanted },
        etag,
      );
      break;
    } catch (error) {
      const refusal = error instanceof RedfishRefusal ? error.answer : undefined;
      // Firmware of any vendor may demand the mode, or not know it.
      const isNextForm: boolean = !otherForm && refusal?.status === 400 && isAboutMode(refusal.body);
      otherForm ||= isNextForm;
      if (!isNextForm && (refusal?.status !== 412 || attempt >= 4)) throw error;
    }
  }
  const end = Date.now() + overrideMs;
  for (;;) {
    const boot = within((await client.system()).body, 'Boot');
    const differs = Object.entries(wanted).filter(([name, value]) => !showsOverride(boot, name, value));
    if (differs.length === 0) return;
    const found = differs.map(([name]) => `${name} ${shownValue(boot[name])}`).join(', ');
    if (Date.now() >= end) throw refused(`the BMC accepted the boot override but reports ${found}`);
    await sleep(500, undefined, { signal });
  }
}

/** Leads back to the disk. Tries the next best override when the BMC refuses one that it advertises. */
export async function endOverride(client: SystemClient, system: Body, turn: Turn): Promise<void> {
  let refusal: unknown;
  for (const override of overridesToDisk(within(system, 'Boot'))) {
    try {
      await changeBoot(client, override, turn);
      return;
    } catch (error) {
      if (!hasCode(error, 'BmcRefused')) throw error;
      refusal = error;
    }
  }
  if (refusal !== undefined) throw refusal;
}

function showsOverride(boot: Body, name: string, value: string): boolean {
  const shown = boot[name];
  // Some firmware stores Once as Continuous. That boots as wanted, and is set back to the disk afterwards.
  if (name === 'BootSourceOverrideEnabled' || shown === value) return true;
  return name === 'HttpBootUri' && typeof shown === 'string' && showsAddress(shown, value);
}

/** Whether a refusal of a boot override names the boot mode. */
const isAboutMode = (refusal: Body): boolean =>
  messagesIn(refusal).some(({ args, properties, text }) =>
    [...args, ...properties, text].some((word) => word.includes('BootSourceOverrideMode')),
  );
