/**
 * Lets a server build what it builds beside its first start, so that no bench measures that work: the commands, and in an
 * earlier revision the console and the documentation, too. The start also fills the compile cache of Node for these sources.
 */
import { readFile } from 'node:fs/promises';
import { eventually } from '@anneal/runtime/testing.ts';
import { startServer } from '../e2e/server.ts';

const limitMs = 300_000;
/** The server writes it when it has started the builds. */
const greeting = 'listens at';

/** Without the options of Node, which may record a profile of each process. */
export async function settleBuilds(sources: string): Promise<void> {
  const server = await startServer({ lab: 0, flags: [], sources, env: { NODE_OPTIONS: '' } });
  try {
    const done = async (): Promise<boolean> => server.log().includes(greeting) && !(await builds(server.pid));
    await eventually(done, { within: limitMs, what: 'the builds beside the server', last: () => server.output() });
  } finally {
    await server.dispose();
  }
}

async function builds(pid: number | undefined): Promise<boolean> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const commands = children.trim().split(' ').filter(Boolean);
  const lines = await Promise.all(commands.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')));
  return lines.some((line) => line.includes('build.ts'));
}
