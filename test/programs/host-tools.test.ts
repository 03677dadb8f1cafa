/**
 * Runs the programs that the tools make, with the real Ansible, Salt, os-apply-config, Puppet, Podman and podman-compose.
 * Chef is in no registry that CI reaches, so Chef's own library reads the configuration that its client would get.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { toolOf } from '@anneal/tools/find.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { installFromPypi } from '../backends/pypi.ts';

const directory = mkdtempSync(join(tmpdir(), 'anneal-host-tools-'));
let bin = '';
let missing: string | undefined;

/** Salt does not name what it needs, so its imports are listed here. */
const packages = ['ansible-core==2.17.14', 'salt==3007.9', 'os-apply-config==14.0.1', 'podman-compose==1.6.0'];
const importedBySalt = [
  'tornado',
  'distro',
  'jinja2',
  'msgpack',
  'PyYAML',
  'looseversion',
  'packaging',
  'psutil',
  'requests',
  'pyzmq',
  'cryptography',
  'jmespath',
];

beforeAll(async () => {
  const installed = await installFromPypi([...packages, ...importedBySalt]);
  if ('missing' in installed) missing = installed.missing;
  else bin = installed.bin;
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const needPython = (context: TestContext): void => {
  if (missing !== undefined) context.skip(missing);
};
const need = (context: TestContext, program: string): void => {
  const found = spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;
  if (!found) context.skip(`${program} is not on the PATH`);
};

const inputs = [
  { name: 'port', type: 'Number', value: 80 },
  { name: 'title', type: 'String', value: `it's "Ä" $(id) \`id\`` },
];
const title = inputs[1]?.value;

function apply(
  group: string,
  config: unknown,
  { env, ...changes }: Partial<HostRequest> & { env?: Record<string, string> } = {},
) {
  const work = mkdtempSync(join(directory, 'work-'));
  const request = {
    id: 'r',
    deployment_id: 'd',
    name: 'web',
    group,
    config,
    action: 'CREATE',
    inputs,
    outputs: [],
    options: {},
    ...changes,
  };
  const program = toolOf(group)?.program(request as unknown as HostRequest) ?? 'exit 1';
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', program], {
    encoding: 'utf8',
    env: { HOME: directory, PATH: `${bin}:${process.env['PATH']}`, heat_outputs_path: join(work, 'output'), ...env },
  });
  const output = (name: string): string => readFileSync(join(work, `output.${name}`), 'utf8');
  return { status, stdout, stderr, output };
}

/** An image with busybox, for Podman, and the environment that Podman needs. Skips the test where no container runs. */
function containers(context: TestContext): { image: string; env: Record<string, string> } {
  need(context, 'podman');
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file));
  if (busybox === undefined) return context.skip('the package busybox-static is not installed');
  // Limits that a user may set, because some machines forbid Podman's own.
  const settings = join(directory, 'containers.conf');
  writeFileSync(settings, '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n');
  process.env['CONTAINERS_CONF'] ??= settings;
  mkdirSync(join(directory, 'image/bin'), { recursive: true });
  copyFileSync(busybox, join(directory, 'image/bin/busybox'));
  const image = 'localhost/anneal-test:1';
  const imported = spawnSync('/bin/sh', ['-c', `tar -C ${join(directory, 'image')} -c . | podman import - ${image}`]);
  const tried = spawnSync('podman', ['run', '--rm', '--net=host', image, '/bin/busybox', 'true'], { encoding: 'utf8' });
  if (imported.status !== 0 || tried.status !== 0)
    return context.skip(`Podman runs no container here: ${tried.stderr.trim()}`);
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => /^(HOME|CONTAINERS_\w+|XDG_\w+)$/.test(entry[0]) && entry[1] !== undefined,
    ),
  );
  return { image, env };
}

const running = (label: string): string[] =>
  spawnSync('podman', ['ps', '--filter', `label=${label}`, '--format', '{{.Names}}'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean);

describe('a real program under its tool', () => {
  it('Ansible gets the inputs as variables and leaves an output', (context) => {
    needPython(context);
    const task = '{content: "{{ port + 1 }} {{ title }}", dest: "{{ heat_outputs_path }}.text"}';
    const { status, stdout, stderr, output } = apply(
      'ansible',
      `- hosts: localhost\n  gather_facts: false\n  tasks:\n  - copy: ${task}\n`,
    );
    expect(status, stdout + stderr).toBe(0);
    expect(output('text')).toBe(`81 ${title}`);
  });

  it('Ansible that fails gives its status', (context) => {
    needPython(context);
    expect(apply('ansible', '- hosts: localhost\n  gather_facts: false\n  tasks: [{fail: {msg: no}}]\n')).toMatchObject(
      {
        status: 2,
        stdout: expect.stringContaining('no') as string,
      },
    );
  });

  it('Salt gets the inputs as options and pillar, and gives its status', (context) => {
    needPython(context);
    const state = `x:\n  file.managed:\n    - name: {{ salt['environ.get']('heat_outputs_path') }}.text\n    - contents: {{ (opts['port'] ~ ' ' ~ pillar['title']) | yaml_dquote }}\n`;
    const { status, stdout, stderr, output } = apply('salt', state);
    expect(status, stdout + stderr).toBe(0);
    expect(output('text')).toBe(`80 ${title}\n`);
    expect(apply('salt', "x:\n  cmd.run: [{name: 'exit 3'}]\n").status).not.toBe(0);
  });

  it('os-apply-config fills its templates from the data of Heat::Ungrouped', (context) => {
    needPython(context);
    const templates = join(directory, 'templates/etc');
    mkdirSync(templates, { recursive: true });
    writeFileSync(join(templates, 'web.conf'), 'listen {{web.port}}\n');
    const env = { ANNEAL_METADATA_DIR: join(directory, 'metadata') };
    expect(apply('Heat::Ungrouped', { web: { port: 8080 } }, { env })).toMatchObject({ status: 0 });
    const list = join(env.ANNEAL_METADATA_DIR, 'os_config_files.json');
    const written = spawnSync(
      join(bin, 'os-apply-config'),
      ['-t', join(directory, 'templates'), '-o', join(directory, 'root')],
      {
        encoding: 'utf8',
        env: { PATH: bin, OS_CONFIG_FILES_PATH: list },
      },
    );
    expect(written.stderr + readFileSync(join(directory, 'root/etc/web.conf'), 'utf8')).toContain('listen 8080');
  });

  it('Puppet gets the inputs as facts and Hiera data, and reports a change as success', (context) => {
    need(context, 'puppet');
    const manifest = `file { "\${facts['heat_outputs_path']}.text": content => "\${facts['port']} \${lookup('title')}" }`;
    const { status, stdout, stderr, output } = apply('puppet', manifest, { options: { enable_hiera: true } });
    expect(status, stdout + stderr).toBe(0);
    expect(output('text')).toBe(`80 ${title}`);
    expect(apply('puppet', "fail('no')").status).not.toBe(0);
  });

  describe('Chef', () => {
    const folder = (name: string): string => {
      const made = join(directory, 'chef', name);
      mkdirSync(made, { recursive: true });
      return made;
    };
    const program = (name: string, text: string): void =>
      writeFileSync(join(folder('bin'), name), text, { mode: 0o755 });
    const kitchenWith = (name: string, files: Readonly<Record<string, string>>): string => {
      const kitchen = folder(name);
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(kitchen, file)), { recursive: true });
        writeFileSync(join(kitchen, file), text);
      }
      return kitchen;
    };
    const sh = (command: string, cwd: string): void => {
      const { status, stderr } = spawnSync('/bin/sh', ['-c', command], { cwd, encoding: 'utf8' });
      expect(status, stderr).toBe(0);
    };
    const cookbook = { 'cookbooks/web/recipes/default.rb': '' };
    interface Read {
      readonly node: Readonly<Record<string, unknown>>;
      readonly recipes: readonly string[];
      readonly policy: readonly unknown[];
      readonly policies: string;
      readonly license: string;
    }
    /** The configuration and the attributes that the client gets, as Chef's library reads them. */
    const applyChef = (list: readonly string[], options: Record<string, unknown>) => {
      const env = { PATH: `${folder('bin')}:${process.env['PATH']}`, HOME: directory };
      const done = apply('chef', list, { options: options as HostRequest['options'], env });
      const line = done.stdout.split('\n').findLast((each) => each.startsWith('{"node":'));
      return { ...done, read: line === undefined ? undefined : (JSON.parse(line) as Read) };
    };

    beforeAll(() => {
      program(
        'cinc-client',
        `#!/usr/bin/env ruby
require 'json'
require 'chef-config/config'
file = ->(flag) { ARGV.fetch(ARGV.index(flag) + 1) }
config = ChefConfig::Config
# Its own client adds the settings of policies.
config.config_strict_mode !File.read(file.('--config')).include?('use_policyfile')
config.from_file(file.('--config'))
raise 'not in local mode' unless ARGV.include?('--local-mode') && config.local_mode && config.chef_zero.enabled
puts JSON.generate(
  node: JSON.parse(File.read(file.('--json-attributes'))),
  recipes: Array(config.cookbook_path).flat_map { |path| Dir.glob("#{path}/*/recipes/*.rb").map { |each| each.delete_prefix("#{path}/") } },
  policy: %i[use_policyfile policy_document_native_api policy_name policy_group].map { |name| config.key?(name) ? config[name] : nil },
  policies: config.policy_path,
  license: ENV['CHEF_LICENSE']
)
`,
      );
      program(
        'berks',
        '#!/bin/sh\n[ "$1 $2" = "vendor --berksfile" ] && mkdir -p "$4/db/recipes" && : >"$4/db/recipes/default.rb"\n',
      );
      // It leaves what Chef's own command leaves.
      program(
        'chef-cli',
        `#!/bin/sh
case $1 in
  install) : >"\${2%.rb}.lock.json" ;;
  export) [ -f "\${3%.rb}.lock.json" ] && mkdir -p "$4/.chef" "$4/policies" && printf "policy_name 'base'\\npolicy_group 'local'\\nuse_policyfile true\\npolicy_document_native_api true\\n" >"$4/.chef/config.rb" ;;
esac
`,
      );
    });
    const needChef = (context: TestContext): void => {
      if (spawnSync('ruby', ['-e', "require 'chef-config/config'"]).status !== 0)
        context.skip('the package ruby-chef-config is not installed');
    };

    it('gets the inputs as attributes, and cookbooks from a folder, a git repository, an archive and Berkshelf', (context) => {
      needChef(context);
      need(context, 'git');
      need(context, 'curl');
      const plain = kitchenWith('plain', cookbook);
      const berks = kitchenWith('berks', { ...cookbook, Berksfile: '' });
      sh('git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm one', plain);
      sh('tar -czf ../one.tgz --transform "s,^[.],kitchen-1," .', plain);
      const archive = join(folder('.'), 'one.tgz');
      const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
      const recipe = 'web/recipes/default.rb';
      const stays = join(folder('.'), 'stays');
      for (const [options, recipes] of [
        [{ kitchen_path: plain }, [recipe]],
        [{ kitchen: plain }, [recipe]],
        [{ kitchen: plain, kitchen_path: stays }, [recipe]],
        [{ kitchen: plain, kitchen_path: stays }, [recipe]],
        [{ archive: `file://${archive}`, sha256 }, [recipe]],
        [{ kitchen_path: berks }, [recipe, 'db/recipes/default.rb']],
      ] as const) {
        const { status, stdout, stderr, read } = applyChef(['recipe[web]'], options);
        expect(status, stdout + stderr).toBe(0);
        expect(read).toMatchObject({
          recipes,
          license: 'accept-silent',
          policy: [null, null, null, null],
        });
        expect(read?.node).toEqual({ port: 80, title, run_list: ['recipe[web]'] });
      }
      const other = applyChef(['recipe[web]'], { archive: `file://${archive}`, sha256: '0'.repeat(64) });
      expect(other).toMatchObject({ status: 1, stderr: expect.stringContaining('another SHA-256') as string });
    });

    it('gets the policy of a Policyfile, with its run list unless the config has one', (context) => {
      needChef(context);
      const kitchen = kitchenWith('policy', { 'Policyfile.rb': '' });
      const { status, stderr, read } = applyChef([], { kitchen_path: kitchen });
      expect(status, stderr).toBe(0);
      expect(read?.policy).toEqual([true, true, 'base', 'local']);
      expect(read?.policies).toBe(join(kitchen, 'exported/policies'));
      expect(read?.node).toEqual({ port: 80, title });
      expect(applyChef(['recipe[web]'], { kitchen_path: kitchen }).read?.node).toMatchObject({
        run_list: ['recipe[web]'],
      });
    });

    it('is not called for a kitchen that is missing or has nothing to run', () => {
      for (const [list, options, message] of [
        [['recipe[web]'], { kitchen_path: join(directory, 'nowhere') }, 'there is no kitchen'],
        [
          ['recipe[web]'],
          { kitchen_path: kitchenWith('empty', { 'README.md': '' }) },
          'has no cookbooks, no Berksfile',
        ],
        [[], { kitchen_path: kitchenWith('listless', cookbook) }, 'the run list is empty'],
      ] as const)
        expect(applyChef(list, options)).toMatchObject({
          status: 1,
          stderr: expect.stringContaining(message) as string,
        });
    });
  });

  it('Podman keeps a container, replaces a changed one, and keeps the old one when the new one fails', (context) => {
    const { image, env } = containers(context);
    const kept = (seconds: string): unknown => ({
      web: {
        image,
        net: 'host',
        command: ['/bin/busybox', 'sh', '-c', `trap 'exit 0' TERM; /bin/busybox sleep ${seconds} & wait`],
        healthy_within: 5,
      },
    });
    const web = 'anneal.name=web';
    try {
      expect(apply('container', kept('1000'), { env })).toMatchObject({ status: 0 });
      const [first] = running(web);
      expect(apply('container', kept('1000'), { env }).stdout).toBe('web: unchanged\n');
      expect(apply('container', kept('2000'), { env })).toMatchObject({ status: 0 });
      const second = running(web);
      expect(second).toHaveLength(1);
      expect(second).not.toContain(first);
      const failed = apply('container', { web: { image, net: 'host', command: ['/bin/busybox', 'false'] } }, { env });
      expect(failed).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('the old one, if any, runs') as string,
      });
      expect(running(web)).toEqual(second);
    } finally {
      apply('container', {}, { env, action: 'DELETE' });
    }
    expect(running(web)).toEqual([]);
  });

  it('podman-compose starts the services of a Compose file, changes and removes them', (context) => {
    needPython(context);
    const { image, env } = containers(context);
    const compose = (port: string) => ({
      web: {
        image,
        network_mode: 'host',
        environment: { PORT: port },
        command: ['/bin/busybox', 'sh', '-c', `trap 'exit 0' TERM; /bin/busybox sleep 1000 & wait`],
      },
    });
    const project = 'io.podman.compose.project=anneal-compose-test';
    const options = { project: 'anneal-compose-test' };
    const environmentOf = (name = ''): string =>
      spawnSync('podman', ['inspect', name, '--format', '{{.Config.Env}}'], { encoding: 'utf8' }).stdout;
    try {
      for (const port of ['1', '2']) {
        const { status, stdout, stderr } = apply('compose', compose(port), { env, options });
        expect(status, stdout + stderr).toBe(0);
        const names = running(project);
        expect(names).toHaveLength(1);
        expect(environmentOf(names[0])).toContain(`PORT=${port}`);
      }
    } finally {
      apply('compose', compose('2'), { env, options, action: 'DELETE' });
    }
    expect(running(project)).toEqual([]);
  });
});
