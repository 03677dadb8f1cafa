import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { createOutput } from '../output.ts';
import { validateTemplateFile } from './validate.ts';

let folder: string;
let notes: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-validate-'));
  notes = '';
});
afterEach(() => rm(folder, { recursive: true }));

const template = `heat_template_version: 2018-08-31
conditions:
  unused: {equals: [{get_param: NotDeclared}, true]}
resources:
  n: {type: OS::Neutron::Net}
`;
const options = { environment: [], parameter: [], output: 'json' } as const;

function contextWith(client: CliContext['client']): CliContext {
  const write = (text: string | Uint8Array): boolean => {
    notes += text.toString();
    return true;
  };
  const stream = { write, isTTY: false } as unknown as NodeJS.WriteStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const interrupt = new AbortController().signal;
  const part = () => Promise.reject(new Error('it was asked'));
  return {
    words: [],
    output,
    environment: {},
    cwd: folder,
    interrupt,
    terminal: stream,
    now: Date.now,
    client,
    part,
    parts: part,
  };
}

it('validateTemplate checks locally when no server is available, and warns of types that may not be served', async () => {
  await writeFile(join(folder, 't.yaml'), template);
  const context = contextWith(() => Promise.reject(new AnnealError('InvalidRequest', 'No server to connect to')));
  expect(await validateTemplateFile('t.yaml', options, context)).toMatchObject({ Parameters: {} });
  expect(notes).toContain('No server is available');
  expect(notes).toContain('t.yaml:3:');
  expect(notes).toContain('serves type OS::Neutron::Net');
});

it('validateTemplate contacts no server with --offline', async () => {
  await writeFile(join(folder, 't.yaml'), template);
  const context = contextWith(() => Promise.reject(new Error('it was asked')));
  expect(await validateTemplateFile('t.yaml', { ...options, offline: true }, context)).toMatchObject({
    Parameters: {},
  });
  expect(notes).not.toContain('No server');
});

it('validateTemplate refuses with --offline what does not fit into a request, and names the file', async () => {
  const context = contextWith(() => Promise.reject(new Error('it was asked')));
  const using = (file: string) =>
    `heat_template_version: rocky\nresources: {a: {type: OS::Heat::Value, properties: {value: {get_file: ${file}}}}}\n`;
  await writeFile(join(folder, 'big.txt'), 'x'.repeat(1_100_000));
  await writeFile(join(folder, 'large.yaml'), using('big.txt'));
  const large = validateTemplateFile('large.yaml', { ...options, offline: true }, context);
  await expect(large).rejects.toThrow(/big\.txt has 1,100,000 bytes; the server accepts 1,048,576 bytes/);
  // Below the limit as a file, and above it as JSON, in which each quote takes two bytes.
  await writeFile(join(folder, 'quotes.txt'), '"'.repeat(600_000));
  await writeFile(join(folder, 'quoted.yaml'), using('quotes.txt'));
  const quoted = validateTemplateFile('quoted.yaml', { ...options, offline: true }, context);
  await expect(quoted).rejects.toMatchObject({ code: 'TooLarge', message: expect.stringMatching(/has 12\d{5} bytes/) });
});

it('validateTemplate allows as many resources as a server', async () => {
  const context = contextWith(() => Promise.reject(new Error('it was asked')));
  const lines = Array.from({ length: 1500 }, (_, at) => `  r${at}: {type: OS::Heat::RandomString}`);
  await writeFile(join(folder, 'many.yaml'), `heat_template_version: rocky\nresources:\n${lines.join('\n')}\n`);
  const answer = validateTemplateFile('many.yaml', { ...options, offline: true }, context);
  await expect(answer).resolves.toMatchObject({ Parameters: {} });
});
