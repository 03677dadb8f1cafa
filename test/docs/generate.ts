/** `npm run docs`: writes docs/reference/ from the code; with `--check` writes nothing and fails when it is stale. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CliContext } from '@anneal/cli/context.ts';
import { describeCommands } from '@anneal/cli/describe.ts';
import { buildProgram } from '@anneal/cli/program.ts';
import { versionRows } from '@anneal/cli/template/language.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { functionRows } from '@anneal/hot/functions/reference.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { nestedTypes, scalingTypes } from '@anneal/hot/types/nested.ts';
import { workflowTypes } from '@anneal/hot/types/openstack/mistral.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import { yaqlRows } from '@anneal/hot/yaql/library/library.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { busMetrics } from '@anneal/runtime/observe/instrument.ts';
import { clockMetrics } from '@anneal/runtime/time/machine-clock.ts';
import { queueMetrics } from '@anneal/runtime/observe/queue-metrics.ts';
import { sharedSettings } from '@anneal/runtime/service/shared-settings.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import {
  commandsPage,
  errorsPage,
  eventsPage,
  functionsPage,
  metricsPage,
  resourceTypesPage,
  settingsPage,
  transitionsPage,
} from './reference.ts';

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs', 'reference');
const services = [
  gatewayService,
  templatingService,
  schedulingService,
  provisioningService,
  configurationService,
  notificationService,
];

// The commands do not run, so they do not use the context.
const program = buildProgram({ environment: {}, cwd: '.' } as CliContext, {
  stdout: process.stdout,
  stderr: process.stderr,
});
const pages: Record<string, string> = {
  'commands.md': commandsPage(describeCommands(program)),
  'errors.md': errorsPage(),
  'events.md': eventsPage(),
  'functions.md': functionsPage({ versions: versionRows(), functions: functionRows, yaql: yaqlRows() }),
  'metrics.md': metricsPage([
    ...Object.values(busMetrics),
    ...Object.values(queueMetrics),
    ...Object.values(clockMetrics),
  ]),
  'resource-types.md': resourceTypesPage([
    ...configurationTypes,
    ...provisioningTypes,
    ...schedulingTypes,
    ...nestedTypes,
    ...scalingTypes,
    ...workflowTypes,
  ]),
  'settings.md': settingsPage([
    { name: 'Every process', settings: sharedSettings },
    ...services.map(({ name, settings }) => ({ name, settings })),
  ]),
  'stack-transitions.md': transitionsPage(),
};

const stale: string[] = [];
for (const [name, text] of Object.entries(pages)) {
  const path = join(folder, name);
  if ((await readFile(path, 'utf8').catch(() => '')) === text) continue;
  stale.push(name);
  if (!process.argv.includes('--check')) await writeFile(path, text);
}
if (process.argv.includes('--check') && stale.length > 0) {
  process.stderr.write(`Stale in docs/reference: ${stale.join(', ')}; run: npm run docs\n`);
  process.exitCode = 1;
}
