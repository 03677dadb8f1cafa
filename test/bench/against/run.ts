/** `--against REVISION`: runs benches of an earlier revision and of this one in turn, and compares each figure. */
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitOf, writeEarlierTree } from '../../earlier-tree.ts';
import { repository } from '../../e2e/server.ts';
import type { Bench, BenchOptions, Row } from '../report.ts';
import { compareRounds, type ComparedFigure } from './compare.ts';
import { commandOf, runSide, type Running, type SourceTree } from './side.ts';

const notes = [
  'The revision is unpacked into a temporary folder, which is removed at the end. Both sides run on this Node, one after the other.',
  'Benches of a server (stack, tree, neighbour): this bench and client, with the server of each revision.',
  'Other benches import what they measure: each revision runs its own bench, and the rows that both have are compared.',
  'Each figure is the median of the rounds. dearer, cheaper: by more than 5 %, and no round of one side is among those of the other.',
  'One round of each shows no spread, so it marks nothing.',
];
const signals = { SIGINT: 130, SIGTERM: 143 } as const;

export async function runAgainst(
  benches: readonly Bench[],
  revision: string,
  options: BenchOptions,
): Promise<ComparedFigure[]> {
  const { say, rounds = 3 } = options;
  const commit = await commitOf(revision);
  const root = await mkdtemp(join(tmpdir(), 'anneal-against-'));
  let running: Running | undefined;
  const remove = (): void => rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  const stopping = new AbortController();
  let exit: Promise<never> | undefined;
  const interrupted = (signal: keyof typeof signals): void => {
    stopping.abort(new Error(`Interrupted by ${signal}.`));
    exit = Promise.resolve(running?.stop()).then(() => {
      remove();
      process.exit(signals[signal]);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  try {
    const [folder, temporary] = [join(root, 'tree'), join(root, 'tmp')];
    for (const made of [folder, temporary]) await mkdir(made);
    say(`\nAgainst ${commit.slice(0, 8)} in ${folder}.\n${notes.join('\n')}`);
    await writeEarlierTree(commit, folder);
    const earlier: SourceTree = { name: commit.slice(0, 8), folder };
    const now: SourceTree = { name: 'this revision', folder: repository };
    const compared: ComparedFigure[] = [];
    for (const bench of benches) {
      const found = { earlier: [] as Row[][], now: [] as Row[][] };
      const run = async (side: SourceTree): Promise<Row[]> => {
        stopping.signal.throwIfAborted();
        running = runSide(commandOf(bench, side, options), { temporary, say });
        return running.rows;
      };
      let isMissing = false;
      for (let round = 0; round < rounds; round += 1) {
        const order = round % 2 === 0 ? [earlier, now] : [now, earlier];
        for (const side of order) {
          if (side === earlier && isMissing) continue;
          say(`${bench.name}, round ${round + 1} of ${rounds}: ${side.name}`);
          if (side === now) found.now.push(await run(side));
          else
            await run(side).then(
              (rows) => found.earlier.push(rows),
              (error: unknown) => {
                // An earlier revision may lack the bench, or an option of it.
                isMissing = true;
                say(`  left out: ${error instanceof Error ? error.message : String(error)}`);
              },
            );
        }
      }
      compared.push(...compareRounds(found));
    }
    return compared;
  } catch (error) {
    // The process whose end is the error ended because of the signal.
    await exit;
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
    remove();
  }
}
