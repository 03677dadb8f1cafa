/** Gives `vi.waitFor` and `vi.waitUntil` the limit of every condition. Vitest has a setting for `expect.poll` alone. */
import { vi } from 'vitest';
import { patience } from './patience.ts';

const mark = Symbol.for('anneal.patient-waits');
const shared = globalThis as { [mark]?: boolean };

// Files that share their modules run this again.
if (!shared[mark]) {
  shared[mark] = true;
  const { waitFor, waitUntil } = vi;
  const named = (options: number | object = {}): object =>
    typeof options === 'number' ? { timeout: options } : options;
  vi.waitFor = (check, options) => waitFor(check, { ...patience, ...named(options) });
  vi.waitUntil = (check, options) => waitUntil(check, { ...patience, ...named(options) });
}
