import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectFiles, referencesIn } from './files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}
const at = (name: string): URL => pathToFileURL(join(folder, name));
const collect = (template: string, ...environments: string[]) =>
  collectFiles({ template: at(template), environments: environments.map(at), read: (url) => readFile(url, 'utf8') });

describe('collectFiles', () => {
  it('sends the template unchanged, with its files under the names that it uses', async () => {
    const template = 'resources:\n  a: # a comment stays\n    properties: {config: {get_file: scripts/run.sh}}\n';
    await write({ 'web.yaml': template, 'scripts/run.sh': 'echo hello' });
    expect(await collect('web.yaml')).toEqual({
      template,
      environmentFiles: [],
      files: { 'scripts/run.sh': 'echo hello' },
    });
  });

  it('includes templates that are used as types, and gives their files unique names', async () => {
    await write({
      'web.yaml': 'resources:\n  a:\n    type: parts/part.yaml\n',
      'parts/part.yaml': 'resources:\n  b:\n    properties:\n      config: {get_file: run.sh}\n      more: 1\n',
      'parts/run.sh': 'echo part',
      'run.sh': 'echo never',
    });
    const { files } = await collect('web.yaml');
    const key = at('parts/run.sh').href;
    expect(files[key]).toBe('echo part');
    expect(files['run.sh']).toBeUndefined();
    expect(files['parts/part.yaml']).toBe(
      `resources:\n  b:\n    properties:\n      config: {get_file: ${JSON.stringify(key)}}\n      more: 1\n`,
    );
  });

  it('accepts file URLs, and sends environments in order', async () => {
    await write({
      'web.yaml': `resources:\n  a:\n    properties:\n      config: {get_file: "PLACE"}\n`,
      'run.sh': 'echo url',
      'one.yaml': 'parameters: {a: 1}\n',
      'two.yaml': 'resource_registry:\n  My::Type: my.yaml\n',
      'my.yaml': 'resources: {}\n',
    });
    await writeFile(at('web.yaml'), (await readFile(at('web.yaml'), 'utf8')).replace('PLACE', at('run.sh').href));
    const { files, environmentFiles } = await collect('web.yaml', 'one.yaml', 'two.yaml');
    expect(files[at('run.sh').href]).toBe('echo url');
    expect(environmentFiles).toEqual(['one.yaml', 'two.yaml']);
    expect(files['my.yaml']).toBe('resources: {}\n');
  });

  it('reports every unreadable file with the place that names it', async () => {
    await write({ 'web.yaml': 'resources:\n  a:\n    x: {get_file: one.sh}\n    y: {get_file: two.sh}\n' });
    const error = await collect('web.yaml', 'gone.yaml').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AnnealError);
    const mistakes = (error as AnnealError).mistakes ?? [];
    expect(mistakes.map(({ path, file, line, column }) => [path, file, line, column])).toEqual([
      ['one.sh', 'web.yaml', 3, 19],
      ['two.sh', 'web.yaml', 4, 19],
      [at('gone.yaml').pathname, at('gone.yaml').pathname, undefined, undefined],
    ]);
  });

  it('ends when a template names itself', async () => {
    await write({ 'web.yaml': 'resources:\n  a:\n    type: web.yaml\n' });
    expect(Object.keys((await collect('web.yaml')).files)).toEqual(['web.yaml']);
  });
});

describe('a template that only the YAML reader of the server accepts', () => {
  const odd = 'description: "two\nlines"\n';

  it('is sent with its files and the files of its nested templates', async () => {
    await write({
      'web.yaml': `${odd}resources:\n  a: {type: parts/part.yaml}\n  b: {properties: {config: {get_file: run.sh}}}\n`,
      'parts/part.yaml': `${odd}resources:\n  c:\n    properties: {config: {get_file: part.sh}}\n`,
      'parts/part.sh': 'echo part',
      'run.sh': 'echo run',
    });
    const { files } = await collect('web.yaml');
    expect(Object.keys(files).sort()).toEqual(['parts/part.yaml', 'run.sh', at('parts/part.sh').href].sort());
    expect(files['parts/part.yaml']).toContain(`{get_file: ${JSON.stringify(at('parts/part.sh').href)}}}\n`);
  });

  it.each([
    ['plain', '{get_file: a b.sh}', '{get_file: KEY}'],
    ['plain over two lines', '{get_file: a\n    b.sh} # behind', '{get_file: KEY} # behind'],
    ['single quotes', "{get_file: 'a b.sh'}", '{get_file: KEY}'],
    ['double quotes', String.raw`{get_file: "a\x20b.sh" }`, '{get_file: KEY }'],
    ['a block', '{get_file: X}\n    y:\n      get_file: >-\n        a b.sh\n    z: 1', undefined],
    [
      'an anchor and a tag',
      '[{get_file: &name !!str a b.sh}, {get_file: *name}]',
      '[{get_file: &name !!str KEY}, {get_file: *name}]',
    ],
  ])('has a file name replaced in place: %s', async (_what, written, replaced) => {
    const text = `resources:\n  c:\n    x: ${written}\n`;
    await write({ 'web.yaml': 'resources: {a: {type: parts/part.yaml}}', 'parts/part.yaml': text });
    await write({ 'parts/a b.sh': 'echo', 'parts/X': 'echo' });
    const key = at('parts/a b.sh').href;
    const { files } = await collect('web.yaml');
    const sent = files['parts/part.yaml'] ?? '';
    expect(files[key]).toBe('echo');
    if (replaced === undefined) expect(sent).toContain(`get_file: ${JSON.stringify(key)}\n    z: 1`);
    else expect(sent).toBe(text.replace(written, replaced.replace('KEY', JSON.stringify(key))));
  });

  it('may be JSON', () => {
    const text = JSON.stringify({ resources: { a: { type: 'a.yaml', properties: { x: { get_file: 'x.sh' } } } } });
    expect(referencesIn(text).map(({ name, start, end }) => [name, text.slice(start, end)])).toEqual([
      ['a.yaml', '"a.yaml"'],
      ['x.sh', '"x.sh"'],
    ]);
  });
});

describe('referencesIn', () => {
  it('does not treat type names and texts as files', () => {
    const text =
      'resources:\n  a:\n    type: OS::Nova::Server\n    properties: {type: x.yaml, script: "get_file: y"}\n';
    expect(referencesIn(text)).toEqual([]);
  });

  it('leaves invalid YAML to the server', () => {
    expect(referencesIn('a: [')).toEqual([]);
  });
});
