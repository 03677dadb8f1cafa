/** The nouns of the command line, in the order of the help. Each is loaded only when a command line uses it. */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from './context.ts';

/** Adds the commands of its nouns to the program. */
type AddCommands = (program: Command, context: CliContext) => void;

interface NounFile {
  /** The first words of its commands. */
  readonly names: readonly string[];
  load(this: void): Promise<AddCommands>;
}

export const nounFiles: readonly NounFile[] = [
  { names: ['serve'], load: async () => (await import('./command/serve.ts')).addServeCommand },
  { names: ['stack'], load: async () => (await import('./command/stack.ts')).addStackCommands },
  { names: ['resource'], load: async () => (await import('./command/resource.ts')).addResourceCommands },
  { names: ['why'], load: async () => (await import('./command/why.ts')).addWhyCommand },
  { names: ['top'], load: async () => (await import('./command/top.ts')).addTopCommand },
  { names: ['explain'], load: async () => (await import('./command/explain.ts')).addExplainCommand },
  { names: ['output'], load: async () => (await import('./command/output.ts')).addOutputCommands },
  { names: ['snapshot'], load: async () => (await import('./command/snapshot.ts')).addSnapshotCommands },
  { names: ['hook'], load: async () => (await import('./command/hook.ts')).addHookCommands },
  { names: ['group'], load: async () => (await import('./command/group.ts')).addGroupCommands },
  { names: ['template'], load: async () => (await import('./command/template.ts')).addTemplateCommands },
  {
    names: ['deployment', 'config'],
    load: async () => (await import('./command/deployment.ts')).addDeploymentCommands,
  },
  { names: ['node'], load: async () => (await import('./command/node.ts')).addNodeCommands },
  {
    names: ['inspection-rule'],
    load: async () => (await import('./command/inspection-rule.ts')).addInspectionRuleCommands,
  },
  { names: ['host'], load: async () => (await import('./command/host.ts')).addHostCommands },
  { names: ['context'], load: async () => (await import('./command/context.ts')).addContextCommands },
  { names: ['run'], load: async () => (await import('./command/run.ts')).addRunCommand },
  { names: ['queue'], load: async () => (await import('./command/queue.ts')).addQueueCommands },
  { names: ['provider'], load: async () => (await import('./command/provider.ts')).addProviderCommands },
  { names: ['dead-letter'], load: async () => (await import('./command/dead-letter.ts')).addDeadLetterCommands },
  { names: ['event'], load: async () => (await import('./command/event.ts')).addEventCommands },
  { names: ['subscription'], load: async () => (await import('./command/subscription.ts')).addSubscriptionCommands },
  { names: ['metric'], load: async () => (await import('./command/metric.ts')).addMetricCommands },
  { names: ['workflow'], load: async () => (await import('./command/workflow.ts')).addWorkflowCommands },
  { names: ['alarm'], load: async () => (await import('./command/alarm.ts')).addAlarmCommands },
  {
    names: ['project', 'user', 'token'],
    load: async () => (await import('./command/identity.ts')).addIdentityCommands,
  },
  { names: ['credential'], load: async () => (await import('./command/credential.ts')).addCredentialCommands },
  { names: ['image'], load: async () => (await import('./command/image.ts')).addImageCommands },
  { names: ['login', 'server'], load: async () => (await import('./command/server.ts')).addServerCommands },
  { names: ['backup', 'restore'], load: async () => (await import('./command/backup.ts')).addBackupCommands },
  { names: ['info', 'service'], load: async () => (await import('./command/info.ts')).addInfoCommands },
  { names: ['completion'], load: async () => (await import('./command/completion.ts')).addCompletionCommands },
];
