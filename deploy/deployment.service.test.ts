/** Compares the files of deploy/ in other languages with the code that they deploy. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { requestsQueue, serviceNames, shardQueue } from '@anneal/contracts/queues.ts';
import { busMetrics } from '@anneal/runtime/observe/instrument.ts';
import { serverFlags } from '@anneal/runtime/service/node-flags.ts';
import { queueMetrics } from '@anneal/runtime/observe/queue-metrics.ts';
import { serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const matches = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map(([all, part]) => part ?? all)),
];

const compose = textOf('deploy/compose/compose.yaml');
/** The text of one service in compose.yaml: from its name to the next one of the same depth. */
const serviceOf = (name: string): string =>
  new RegExp(`^  ${name}:\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(compose)?.[1] ?? '';
const anchorOf = (name: string): string => new RegExp(`^x-${name}: .*\\n((?: .*\\n)+)`, 'm').exec(compose)?.[1] ?? '';

describe('the deployment files', () => {
  it('name only settings that exist', () => {
    const known = new Set(matches(textOf('docs/reference/settings.md'), /ANNEAL_[A-Z_]+[A-Z]/g));
    // Only compose uses this variable: the image to run.
    const own = ['ANNEAL_IMAGE'];
    const files = globSync(['Containerfile', 'compose/**/*', 'compose/.env.example', 'helm/**/*', 'systemd/*'], {
      cwd: here,
      withFileTypes: true,
    }).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(30);
    for (const { parentPath, name } of files) {
      const used = matches(readFileSync(join(parentPath, name), 'utf8'), /ANNEAL_[A-Z_]+[A-Z]/g);
      expect(
        used.filter((setting) => !known.has(setting) && !own.includes(setting)),
        name,
      ).toEqual([]);
    }
  });

  it('start Node with the flags of a server', () => {
    const [, ...flags] = serverFlags({});
    for (const path of ['Containerfile', 'systemd/anneal.service', 'systemd/anneal@.service'])
      for (const flag of flags) expect(textOf(`deploy/${path}`), path).toContain(flag);
    for (const flag of flags) expect(textOf('services/cli/launch.mjs')).toContain(`'${flag}'`);
  });

  it('start two replicas of every service, and all nodes of a broker in its profile', () => {
    expect(anchorOf('service')).toMatch(/^ {4}replicas: 2$/m);
    for (const name of serviceNames) {
      expect(serviceOf(name)).toContain('<<: *service\n');
      expect(serviceOf(name)).toContain(`command: [services/${name}/main.ts]\n`);
    }
    for (const broker of ['rabbitmq', 'nats']) {
      expect(anchorOf(broker)).toContain(`profiles: [${broker}]`);
      for (const number of [1, 2, 3]) expect(serviceOf(`${broker}-${number}`)).toContain(`<<: *${broker}\n`);
    }
  });

  it('have a Deployment for every service in the chart', () => {
    const services = /^services:\n((?:.*\n)+?)(?=^\S)/m.exec(textOf('deploy/helm/anneal/values.yaml'))?.[1] ?? '';
    expect(matches(services, /^ {2}(\w+):/gm).toSorted()).toEqual(serviceNames.toSorted());
  });

  it('scale by queues that exist', () => {
    const chart = textOf('deploy/helm/anneal/templates/keda.yaml');
    const pattern = /\$queues := printf `(.+)` \$name/.exec(chart)?.[1]?.replaceAll('\\\\', '\\') ?? '';
    expect(chart).toContain(`${queueMetrics.depth.name}{`);
    const queues = new RegExp(`^${pattern.replace('%s', 'scheduling')}$`);
    for (const queue of [requestsQueue('scheduling'), shardQueue(0), shardQueue(63)]) expect(queue).toMatch(queues);
    for (const queue of [requestsQueue('templating'), 'anneal.scheduling.dead']) expect(queue).not.toMatch(queues);
  });

  it('put every package of the workspace into the image', () => {
    const copied = matches(textOf('deploy/Containerfile'), /^COPY (\S+\/package\.json) /gm);
    const packages = globSync(
      ['{clients,libs,services}/*/package.json', 'deploy/lab/package.json', 'test/package.json'],
      {
        cwd: root,
      },
    );
    expect(copied.toSorted()).toEqual(packages.toSorted());
  });

  it('let the build of the image read every page of the documentation, and what the pages link to', () => {
    const allowed = matches(textOf('deploy/Containerfile.dockerignore'), /^!(\S+)$/gm);
    const pages = globSync(
      ['*.md', '{docs,examples}/**/*.md', 'deploy/{*,*/README}.md', '{clients,libs,services,test}/**/README.md'],
      {
        cwd: root,
        exclude: ['**/node_modules'],
      },
    );
    const isAllowed = (path: string): boolean =>
      allowed.some(
        (each) => matchesGlob(path, each) || (path.startsWith(`${each}/`) && each !== 'deploy' && each !== 'test'),
      );
    const linked = pages.flatMap((page) =>
      matches(textOf(page), /\]\(([^)#\s]+)/g)
        .filter((link) => !/^[a-z]+:/.test(link))
        .map((link) => join(dirname(page), link).replace(/\/$/, '')),
    );
    expect(pages.length).toBeGreaterThan(60);
    const absent = [...new Set([...pages, ...linked])].filter((path) => !isAllowed(path));
    expect(absent.filter((path) => !allowed.includes(path))).toEqual([]);
    // Vite refuses to build the console without the file that the console's own one extends.
    expect(textOf('services/console/tsconfig.json')).toContain('"extends": "../../tsconfig.json"');
    expect(allowed).toContain('tsconfig.json');
  });

  it('leave the gateway of the image nothing to build', () => {
    const last = textOf('deploy/Containerfile')
      .split(/^FROM /m)
      .at(-1);
    for (const part of ['console', 'docs']) {
      expect(last).toContain(`COPY --from=pages /opt/anneal/services/${part}/dist ./services/${part}/dist\n`);
      expect(last).toMatch(new RegExp(`^RUN rm .*services/${part}/build.ts`, 'm'));
    }
  });
});

describe('the alerts and the dashboard', () => {
  const rules = textOf('deploy/prometheus/rules.yaml');
  const dashboard = textOf('deploy/grafana/anneal.json');

  it('use only metrics that exist', () => {
    const ours = new Set(
      [busMetrics, queueMetrics, serviceMetrics]
        .flatMap(Object.values<{ name: string }>)
        .flatMap(({ name }) => ['', '_count', '_bucket', '_sum'].map((end) => name + end)),
    );
    for (const text of [rules, dashboard]) {
      for (const name of matches(text, /\banneal_[a-z_]+\b/g)) expect(ours, name).toContain(name);
    }
  });

  it('have a silent and a firing test of every alert in rules.test.yaml', () => {
    const tests = textOf('deploy/prometheus/rules.test.yaml');
    const alerts = matches(rules, /^ +- alert: (\w+)$/gm);
    expect(alerts.length).toBeGreaterThan(10);
    expect(matches(tests, /alertname: (\w+), exp_alerts: \[\]/g).toSorted()).toEqual(alerts.toSorted());
    expect(matches(tests, /alertname: (\w+)\n +exp_alerts:\n/g).toSorted()).toEqual(alerts.toSorted());
  });
});
