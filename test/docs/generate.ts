/**
 * `npm run docs`: writes docs/reference/, with the OpenAPI documents, from the code; with `--check` writes
 * nothing and fails when they are stale.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CliContext } from '@anneal/cli/context.ts';
import { commandsFile, commandsText } from '@anneal/cli/completion/described.ts';
import { commandTree } from '@anneal/cli/completion/tree.ts';
import { describeCommands } from '@anneal/cli/describe.ts';
import { buildProgram } from '@anneal/cli/program.ts';
import { versionRows } from '@anneal/cli/template/language.ts';
import { readableYaml } from '@anneal/contracts/readable-yaml.ts';
import { compatibleApis, ownApi } from '@anneal/docs/documents.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startTestGateway } from '@anneal/gateway/testing/test-gateway.ts';
import { functionRows } from '@anneal/hot/functions/reference.ts';
import { workflowActions } from '@anneal/hot/workflow/action-catalogue.ts';
import { yaqlRows } from '@anneal/hot/yaql/library/library.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { builtInTypes } from '@anneal/hot/served.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { busMetrics } from '@anneal/runtime/observe/instrument.ts';
import { serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';
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
  nodeStatesPage,
  resourceTypesPage,
  settingsPage,
  runTransitionsPage,
  transitionsPage,
  workflowActionsPage,
} from './reference.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = join(root, 'docs', 'reference');
const services = [
  gatewayService,
  identityService,
  templatingService,
  schedulingService,
  provisioningService,
  configurationService,
  notificationService,
];

// The commands do not run, so they do not use the context.
const program = await buildProgram({ environment: {}, cwd: '.' } as CliContext, {
  stdout: process.stdout,
  stderr: process.stderr,
});
// These documents list the routes that a server has.
const gateway = await startTestGateway();
const documents = await Promise.all(
  [ownApi, ...compatibleApis].map(async ({ path, prefix }) => {
    const { json } = await gateway.call('GET', `${prefix}/openapi.json`);
    return { name: path, text: readableYaml(json), path: join(root, path) };
  }),
);
await gateway.stop();
const pages: Record<string, string> = {
  'commands.md': commandsPage(describeCommands(program)),
  'errors.md': errorsPage(),
  'events.md': eventsPage(),
  'functions.md': functionsPage({ versions: versionRows(), functions: functionRows, yaql: yaqlRows() }),
  'node-states.md': nodeStatesPage(),
  'metrics.md': metricsPage([
    ...Object.values(busMetrics),
    ...Object.values(queueMetrics),
    ...Object.values(serviceMetrics),
    ...Object.values(clockMetrics),
  ]),
  'resource-types.md': resourceTypesPage(builtInTypes),
  'run-transitions.md': runTransitionsPage(),
  'settings.md': settingsPage([
    { name: 'Every process', settings: sharedSettings },
    ...services.map(({ name, settings }) => ({ name, settings })),
  ]),
  'stack-transitions.md': transitionsPage(),
  'workflow-actions.md': workflowActionsPage(workflowActions),
};

const stale: string[] = [];
const files = [
  ...documents,
  ...Object.entries(pages).map(([name, text]) => ({ name, text, path: join(folder, name) })),
  { name: 'the commands for completion', text: commandsText(commandTree(program)), path: fileURLToPath(commandsFile) },
];
for (const { name, text, path } of files) {
  if ((await readFile(path, 'utf8').catch(() => '')) === text) continue;
  stale.push(name);
  if (!process.argv.includes('--check')) await writeFile(path, text);
}
if (process.argv.includes('--check') && stale.length > 0) {
  process.stderr.write(`Stale: ${stale.join(', ')}; run: npm run docs\n`);
  process.exitCode = 1;
}
