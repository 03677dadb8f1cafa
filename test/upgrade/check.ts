/** The end that every upgrade must reach, and the parts that its checks share. */
import type { Client } from '@anneal/client/connect.ts';
import { checkConfigs, checkEvents, openGate, reached, type Listener } from './work.ts';

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Ends what a check has started, the latest first. */
export class Cleanup {
  readonly #ends: (() => unknown)[] = [];
  add<T>(value: T, end: (value: T) => unknown): T {
    this.#ends.push(() => end(value));
    return value;
  }
  async run(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
  }
}

export interface Check {
  /** The sources of the earlier revision. */
  readonly earlier: string;
  readonly folder: string;
  readonly cleanup: Cleanup;
}

/** After the upgrade: everything completes, and the new revision works on with what the earlier one made. */
export async function finish(
  { folder }: Check,
  parameters: { client: Client; listener: Listener; id: string },
): Promise<void> {
  const { client, listener, id } = parameters;
  await openGate(folder, 3);
  await openGate(folder, 5);
  await reached(client, 'work', 'CREATE_COMPLETE');
  print('  ✔ the stack that was being created is complete');
  print(`  ✔ ${await checkConfigs(folder)}`);
  print(`  ✔ ${await checkEvents(client, listener, id)}`);
  await client.actions.act({ stack: 'work', action: { kind: 'check' } });
  await reached(client, 'work', 'CHECK_COMPLETE');
  print('  ✔ the stack passes its check');
}
