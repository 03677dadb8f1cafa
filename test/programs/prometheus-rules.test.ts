/** The alerts and the dashboard, checked by the `promtool` of Debian's package `prometheus`. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { findProgram } from '../backends/program.ts';
import { repository } from '../e2e/server.ts';

const promtool = await findProgram('promtool');
const run = (...words: string[]) => promisify(execFile)(promtool ?? '', words, { cwd: repository });

it.skipIf(promtool === undefined)('every alert is silent in a healthy run and fires in its fault', async () => {
  const { stdout } = await run('test', 'rules', 'deploy/prometheus/rules.test.yaml');
  expect(stdout).toContain('SUCCESS');
});

it.skipIf(promtool === undefined)('Prometheus can read each expression of the dashboard', async () => {
  interface Panel {
    title: string;
    targets?: { expr: string }[];
  }
  const { panels } = JSON.parse(readFileSync(join(repository, 'deploy/grafana/anneal.json'), 'utf8')) as {
    panels: Panel[];
  };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  const rules = expressions.map((expr, number) => ({
    record: `dashboard:expression:${number}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
  }));
  const folder = mkdtempSync(join(tmpdir(), 'anneal-rules-'));
  try {
    // JSON is YAML.
    writeFileSync(join(folder, 'rules.yaml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect((await run('check', 'rules', join(folder, 'rules.yaml'))).stdout).toContain(`${rules.length} rules found`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
