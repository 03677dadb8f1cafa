/** Each command runs in a page or in a test with a real server. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CliContext } from '@anneal/cli/context.ts';
import { describeCommands } from '@anneal/cli/describe.ts';
import { buildProgram } from '@anneal/cli/program.ts';
import { expect, it } from 'vitest';
import { parseTranscript } from '../transcript/parse.ts';
import { treeRoot } from './witnesses.ts';

const textOf = (file: string): string => readFileSync(join(treeRoot, file), 'utf8');
const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: treeRoot });
/** The first two words of each command that the test of the pages runs, and the first alone. */
const typed = pages
  .flatMap((page) => parseTranscript(textOf(page)))
  .flatMap((step) => (step.kind === 'command' ? [...step.command.matchAll(/\banneal ([a-z-]+)(?: ([a-z-]+))?/g)] : []));
/** The same of a test, which passes them to a function: `anneal('stack', 'show', …)`, `run('anneal', ['completion', …`. */
const passed = globSync('test/{agents,conformance/together,e2e,machines,process,programs}/**/*.ts', { cwd: treeRoot })
  // `openstack stack list` is no command of Anneal.
  .filter((file) => !file.includes('/openstack/'))
  .flatMap((file) => [...textOf(file).matchAll(/(?:[([]|main\.ts',)\s*'([a-z-]+)'(?:,\s*'([a-z-]+)')?/g)]);
const run = new Set([...typed, ...passed].flatMap(([, first = '', second = '']) => [first, `${first} ${second}`]));

it('each command runs in a page or in a test with a server', async () => {
  const program = await buildProgram({ environment: {}, cwd: '.' } as CliContext, {
    stdout: process.stdout,
    stderr: process.stderr,
  });
  const commands = describeCommands(program).map(({ usage }) => usage.replace(/ [[<].*$/, '').replace('anneal ', ''));
  expect(commands.length).toBeGreaterThan(150);
  expect(commands.filter((command) => !run.has(command))).toEqual([]);
});
