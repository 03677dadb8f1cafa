import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tools, toolOf } from './find.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'anneal-tools-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const requestOf = (group: string, config: unknown, changes: Partial<HostRequest> = {}): HostRequest => ({
  id: 'request-1',
  deployment_id: 'deployment-1',
  name: 'web',
  group,
  config: config as HostRequest['config'],
  action: 'CREATE',
  inputs: [],
  outputs: [],
  options: {},
  deadline: '2030-01-01T00:00:00.000Z',
  creation_time: '2030-01-01T00:00:00.000Z',
  ...changes,
});

const programOf = (request: HostRequest): string => toolOf(request.group)?.program(request) ?? '';

/** Runs a program in a folder of its own, as an agent does. */
function run(request: HostRequest): { status: number | null; stderr: string; outputs: Record<string, string> } {
  const work = mkdtempSync(join(root, 'work-'));
  const { status, stderr } = spawnSync('/bin/sh', ['-c', programOf(request)], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'],
      heat_outputs_path: join(work, 'output'),
      ANNEAL_METADATA_DIR: join(root, 'metadata'),
    },
  });
  const names = readdirSync(work).filter((name) => name.startsWith('output.'));
  return {
    status,
    stderr,
    outputs: Object.fromEntries(names.map((name) => [name.slice(7), readFileSync(join(work, name), 'utf8')])),
  };
}

const hostile = [
  '\'; touch "$MARK"; \'',
  '$(touch $MARK)',
  '`touch $MARK`',
  '\nANNEAL_END\ntouch $MARK\n',
  '"; touch $MARK; "',
  '\0',
  '\\',
];

/** A config that each tool accepts, around one text that may hold anything. */
const configWith = (group: string, text: string): unknown =>
  ({
    ansible: text,
    puppet: text,
    salt: text,
    chef: [`recipe[${text}]`],
    container: { web: { image: text, command: [text], environment: { A: text }, volumes: [text] } },
    'docker-cmd': { web: { image: text, command: text } },
    compose: { services: { web: { image: text } } },
    'docker-compose': { web: { image: text } },
    kubernetes: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: text }, data: { text } },
    file: { '/nowhere/file': { content: text, target: text } },
    package: ['hello'],
    service: ['cron'],
    user: { someone: { authorized_keys: ['ssh-ed25519 A'] } },
    'os-apply-config': { text },
    'Heat::Ungrouped': { text },
    'apply-config': text,
    hiera: { datafiles: { common: { text } } },
    'json-file': { '/nowhere/file.json': { text } },
    'cfn-init': { text },
  })[group];

describe('every tool', () => {
  it.for(tools.map(({ group }) => group))('makes a valid shell program from any text: %s', (group) => {
    for (const text of hostile) {
      for (const action of ['CREATE', 'DELETE'] as const) {
        const inputs = [
          { name: 'deploy_stack_id', type: 'String', value: text },
          { name: "it's", type: 'Json', value: [text] },
        ];
        const program = programOf(requestOf(group, configWith(group, text), { action, inputs, name: text }));
        const parsed = spawnSync('/bin/sh', ['-n'], { input: program, encoding: 'utf8' });
        expect(parsed.stderr, program).toBe('');
      }
    }
  });

  it.for(['container', 'compose', 'kubernetes', 'ansible', 'puppet', 'salt', 'cfn-init', 'chef'])(
    'passes text to its program unread by the shell: %s',
    (group) => {
      // Each program that a tool may call does nothing here but end well.
      const bin = join(root, 'bin');
      mkdirSync(bin);
      const called = [
        'podman',
        'docker',
        'kubectl',
        'ansible-playbook',
        'puppet',
        'salt-call',
        'cfn-init',
        'cinc-client',
        'sleep',
      ];
      for (const name of called) writeFileSync(join(bin, name), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
      const mark = join(root, 'mark');
      const kitchen = join(root, 'kitchen');
      mkdirSync(join(kitchen, 'cookbooks'), { recursive: true });
      for (const text of hostile) {
        const inputs = [
          { name: "it's", type: 'String', value: text },
          { name: 'deploy_stack_id', type: 'String', value: text },
        ];
        const work = mkdtempSync(join(root, 'work-'));
        const options = group === 'chef' ? { kitchen_path: kitchen } : {};
        const request = requestOf(group, configWith(group, text), { inputs, name: text, options });
        spawnSync('/bin/sh', ['-c', programOf(request)], {
          env: {
            PATH: `${bin}:${process.env['PATH']}`,
            MARK: mark,
            heat_outputs_path: join(work, 'output'),
            HEAT_CFN_INIT_LAST_METADATA_DIR: work,
          },
          timeout: 20_000,
        });
        expect(existsSync(mark), text).toBe(false);
      }
    },
  );
});

describe('the chef tool', () => {
  const list = ['recipe[web]'];
  it.each([
    ['recipe[web]', {}, 'must be a run list'],
    [['web', 'recipe[', 3, 'user[x]'], {}, 'The run list of group chef has "recipe[", 3, "user[x]"'],
    [list, { archive: 'https://a/b.tgz' }, 'an archive without its sha256'],
    [
      list,
      { archive: 'https://a/b.tgz', sha256: 'a'.repeat(64), kitchen: 'https://a/b.git' },
      'of which there can be one',
    ],
    [list, { sha256: 'a'.repeat(64) }, 'a sha256 without an archive'],
    [list, { kitchen_path: '/a/#{b}' }, 'kitchen_path: must be an absolute path'],
  ])('refuses the run list %j with the options %j', (config, options, message) => {
    expect(() => programOf(requestOf('chef', config, { options }))).toThrow(message);
  });
});

describe('the kubernetes tool', () => {
  it('names each mistake of its objects, also of those in a list, and refuses text that is no YAML', () => {
    const config = [{ apiVersion: 'v1', kind: 'List', items: [{ kind: 'Service' }] }, 'text'];
    expect(() => programOf(requestOf('kubernetes', config))).toThrow(
      /object 1: apiVersion must be a text; object 1: metadata must be a map with a name; object 2: it .*/,
    );
    expect(() => programOf(requestOf('kubernetes', 'a: [1'))).toThrow(/is not YAML/);
    expect(() => programOf(requestOf('kubernetes', '---\n'))).toThrow(/holds no object/);
  });

  it('K3: refuses an output that the config does not declare, except when it deletes', () => {
    const config = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };
    const read = { object: 'service/web', jsonpath: '{.spec.clusterIP}' };
    const options = { outputs: { address: read, port: read } };
    const outputs = [{ name: 'port', type: 'String' }];
    expect(() => programOf(requestOf('kubernetes', config, { options, outputs }))).toThrow(
      /does not declare: address\./,
    );
    expect(programOf(requestOf('kubernetes', config, { options, outputs, action: 'DELETE' }))).toMatch(/k delete/);
  });
});

describe('the file tool', () => {
  const files = (): Record<string, unknown> => ({
    [join(root, 'etc/app.conf')]: { content: "name = 'a' $HOME\nno newline", mode: '0640' },
    [join(root, 'data')]: { state: 'directory', mode: '0700' },
    [join(root, 'link')]: { target: 'etc/app.conf' },
  });

  it('writes content byte for byte, and changes nothing the second time', () => {
    const changed = ['etc/app.conf', 'data', 'link'].map((name) => `${join(root, name)}\n`).join('');
    expect(run(requestOf('file', files()))).toMatchObject({ status: 0, outputs: { changed } });
    expect(readFileSync(join(root, 'link'), 'utf8')).toBe("name = 'a' $HOME\nno newline");
    expect(statSync(join(root, 'etc/app.conf')).mode & 0o777).toBe(0o640);
    expect(statSync(join(root, 'data')).mode & 0o777).toBe(0o700);
    expect(run(requestOf('file', files())).outputs).toEqual({ changed: '' });
  });

  it('removes what it made when the deployment is deleted', () => {
    run(requestOf('file', files()));
    expect(run(requestOf('file', files(), { action: 'DELETE' }))).toMatchObject({ status: 0 });
    expect(['link', 'data', 'etc/app.conf'].filter((name) => existsSync(join(root, name)))).toEqual([]);
  });

  it('names each mistake of its config with its path', () => {
    const config = { 'relative/path': {}, [join(root, 'x')]: { mode: 'rw', contents: 'typo' } };
    expect(() => programOf(requestOf('file', config))).toThrow(
      /config of group file cannot be applied: .*absolute path.*mode: must be an octal mode.*contents/,
    );
  });
});

describe('the tools for metadata', () => {
  it('keep data in the list of os-apply-config, and drop it when the deployment is deleted', () => {
    const list = join(root, 'metadata/os_config_files.json');
    const kept = (): string[] => JSON.parse(readFileSync(list, 'utf8')) as string[];
    expect(run(requestOf('Heat::Ungrouped', 'a: 1'))).toMatchObject({ status: 0, stderr: '' });
    expect(run(requestOf('os-apply-config', { b: 2 }, { name: '../db' }))).toMatchObject({ status: 0 });
    expect(kept().map((file) => JSON.parse(readFileSync(file, 'utf8')) as unknown)).toEqual([{ b: 2 }, { a: 1 }]);
    run(requestOf('Heat::Ungrouped', 'a: 1', { action: 'DELETE' }));
    expect(kept()).toHaveLength(1);
  });

  it('refuse a script, and name the group that runs scripts', () => {
    expect(() => programOf(requestOf('Heat::Ungrouped', 'just text'))).toThrow(/use the group script/);
  });

  it('write each value of a JSON file config to its path', () => {
    const file = join(root, 'a/b.json');
    expect(run(requestOf('json-file', { [file]: { text: "it's" } }))).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ text: "it's" });
  });
});

describe('a host without the program of a tool', () => {
  it('ends with 127 and says what to install', () => {
    const work = mkdtempSync(join(root, 'work-'));
    const { status, stderr } = spawnSync('/bin/sh', ['-c', programOf(requestOf('ansible', '- hosts: localhost'))], {
      encoding: 'utf8',
      env: { PATH: mkdtempSync(join(root, 'empty-')), heat_outputs_path: join(work, 'output') },
    });
    expect({ status, stderr }).toMatchObject({
      status: 127,
      stderr: expect.stringContaining('install ansible-core') as string,
    });
  });
});
