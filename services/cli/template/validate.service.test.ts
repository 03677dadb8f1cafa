import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { createOutput } from '../output.ts';
import { planTemplate } from './inspect.ts';
import { renderTemplate } from './render.ts';
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

it('validateTemplate takes with --offline a template and files that no request could hold, as render does', async () => {
  const context = contextWith(() => Promise.reject(new Error('it was asked')));
  const large = `heat_template_version: rocky\noutputs: {o: {value: {get_file: big.txt}}}\n`;
  await writeFile(join(folder, 'big.txt'), 'x'.repeat(3_000_000));
  await writeFile(join(folder, 'large.yaml'), large);
  const answer = validateTemplateFile('large.yaml', { ...options, offline: true }, context);
  await expect(answer).resolves.toMatchObject({ Parameters: {} });
});

describe('the limits of the offline commands', () => {
  const asked = (): Promise<never> => Promise.reject(new Error('it was asked'));
  const offline = { ...options, offline: true } as const;
  const within = (environment: Record<string, string>) => ({ ...contextWith(asked), environment });
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: unknown) => `${String(error)} ${notes}`,
    );
  const commands = {
    validate: (file: string, context: CliContext) => validateTemplateFile(file, offline, context),
    render: (file: string, context: CliContext) => renderTemplate(file, options, context),
    plan: (file: string, context: CliContext) => planTemplate(file, options, context),
  };

  /** A template with this many levels below it. */
  async function chain(levels: number): Promise<void> {
    for (let level = 0; level < levels; level += 1) {
      const inner = `resources: {r: {type: level${level + 1}.yaml}}`;
      await writeFile(join(folder, `level${level}.yaml`), `heat_template_version: rocky\n${inner}\n`);
    }
    await writeFile(join(folder, `level${levels}.yaml`), 'heat_template_version: rocky\nresources: {}\n');
  }

  it.each(Object.entries(commands))('%s reads the setting of the depth that a server reads', async (_, run) => {
    await chain(7);
    expect(await refusal(run('level0.yaml', within({})))).toContain(
      'exceeds 5 (the limit is ANNEAL_TEMPLATING_MAX_DEPTH)',
    );
    notes = '';
    const raised = run('level0.yaml', within({ ANNEAL_TEMPLATING_MAX_DEPTH: '7' }));
    expect(await refusal(raised)).toBe('accepted');
    notes = '';
    const wrong = refusal(run('level0.yaml', within({ ANNEAL_TEMPLATING_MAX_DEPTH: 'x' })));
    expect(await wrong).toContain('ANNEAL_TEMPLATING_MAX_DEPTH');
  });

  it('render reads the settings of yaql that a server reads, alone and for each case of a batch', async () => {
    const output = '{value: {yaql: {expression: range(300), data: {}}}}';
    const text = `heat_template_version: rocky\noutputs: {o: ${output}}\n`;
    await writeFile(join(folder, 'long.yaml'), text);
    await writeFile(join(folder, 'cases'), JSON.stringify({ id: 1, template: text }));
    for (const [file, batch] of [['long.yaml'], [undefined, 'cases']] as const) {
      notes = '';
      await refusal(renderTemplate(file, { ...options, batch }, within({})));
      expect(notes).toContain('exceeds 200 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)');
      notes = '';
      await renderTemplate(file, { ...options, batch }, within({ ANNEAL_YAQL_LIMIT_ITERATORS: '10000' }));
      expect(notes).toMatch(/298,\s*299\s*\]/);
    }
  });
});

it('validateTemplate allows as many resources as a server', async () => {
  const context = contextWith(() => Promise.reject(new Error('it was asked')));
  const lines = Array.from({ length: 1500 }, (_, at) => `  r${at}: {type: OS::Heat::RandomString}`);
  await writeFile(join(folder, 'many.yaml'), `heat_template_version: rocky\nresources:\n${lines.join('\n')}\n`);
  const answer = validateTemplateFile('many.yaml', { ...options, offline: true }, context);
  await expect(answer).resolves.toMatchObject({ Parameters: {} });
});
