import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { eventually } from '../testing.ts';

const entry = new URL('./release-memory.ts', import.meta.url).href;
/** Prints the size of its heap in MiB every second, after a burst whose objects are old when they die. */
const program = `
import { releaseMemory } from ${JSON.stringify(entry)};
import { getHeapStatistics } from 'node:v8';
let kept = [];
for (let at = 0; at < 1_000_000; at += 1) kept.push({ at, text: 'text ' + at });
console.log(kept.length);
kept = [];
if (process.argv.includes('release')) releaseMemory({ lookMs: 400, looksOfRest: 3 });
const poll = () => {
  for (let at = 0; at < 10_000; at += 1) kept.push({ at });
  kept = [];
  console.log(Math.round(getHeapStatistics().total_heap_size / 2 ** 20));
};
setInterval(poll, 1_000);
`;

it('returns the memory of a burst when the event loop rests, which V8 alone keeps', async () => {
  const sizes: Record<string, number[]> = { release: [], none: [] };
  const children = Object.entries(sizes).map(([word, seen]) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program, '--', word], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface({ input: child.stdout }).on('line', (line) => seen.push(Number(line)));
    return child;
  });
  try {
    const last = (word: string): number => sizes[word]?.at(-1) ?? 0;
    const hasRun = (word: string): boolean => (sizes[word]?.length ?? 0) > 3;
    await eventually(() => hasRun('none') && hasRun('release') && last('release') < 40, {
      within: 90_000,
      what: 'a small heap',
      last: () => Object.values(sizes).map((seen) => seen.slice(-5)),
    });
    expect(Math.max(...(sizes['release'] ?? []).slice(1))).toBeGreaterThan(100);
    expect(last('none')).toBeGreaterThan(100);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
});
