/** Builds the whole command line from `command/`, which has one file per noun. */
import { Command, Help, type Option } from '@commander-js/extra-typings';
import { addAlarmCommands } from './command/alarm.ts';
import { addCompletionCommands } from './command/completion.ts';
import { addCredentialCommands } from './command/credential.ts';
import { addDeadLetterCommands } from './command/dead-letter.ts';
import { addDeploymentCommands } from './command/deployment.ts';
import { addEventCommands } from './command/event.ts';
import { addGroupCommands } from './command/group.ts';
import { addHookCommands } from './command/hook.ts';
import { addContextCommands } from './command/context.ts';
import { addHostCommands } from './command/host.ts';
import { addInfoCommands } from './command/info.ts';
import { addMetricCommands } from './command/metric.ts';
import { addNodeCommands } from './command/node.ts';
import { exampleText } from './command/options.ts';
import { addOutputCommands } from './command/output.ts';
import { addProviderCommands } from './command/provider.ts';
import { addQueueCommands } from './command/queue.ts';
import { addResourceCommands } from './command/resource.ts';
import { addRunCommand } from './command/run.ts';
import { addServeCommand } from './command/serve.ts';
import { addSnapshotCommands } from './command/snapshot.ts';
import { addStackCommands } from './command/stack.ts';
import { addSubscriptionCommands } from './command/subscription.ts';
import { addTemplateCommands } from './command/template.ts';
import { addWhyCommand } from './command/why.ts';
import { addWorkflowCommands } from './command/workflow.ts';
import type { CliContext } from './context.ts';

export function buildProgram(
  context: CliContext,
  streams: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream },
): Command {
  const program = new Command('anneal')
    .description('Anneal: from templates to running bare-metal machines.')
    .version('0.1.0', '-V, --version')
    .showHelpAfterError('(add --help to see how to use the command)')
    .exitOverride()
    .configureHelp({
      // Do not show an empty list as a default.
      optionDescription: (option) =>
        new Help().optionDescription(
          Array.isArray(option.defaultValue)
            ? (Object.create(option, { defaultValue: { value: undefined } }) as Option)
            : option,
        ),
    })
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
    })
    .addHelpText('after', exampleText('serve', 'stack create web -t web.yaml', 'stack list', 'event watch'))
    .addHelpText(
      'after',
      '\nConnects to OS_AUTH_URL if set, otherwise to the local server whose data folder (.anneal) is in this or a parent folder.' +
        '\nExit status: 0 success, 1 failure, 2 invalid input, 130 interrupted.\n',
    );
  addServeCommand(program, context);
  addStackCommands(program, context);
  addResourceCommands(program, context);
  addWhyCommand(program, context);
  addOutputCommands(program, context);
  addSnapshotCommands(program, context);
  addHookCommands(program, context);
  addGroupCommands(program, context);
  addTemplateCommands(program, context);
  addDeploymentCommands(program, context);
  addNodeCommands(program, context);
  addHostCommands(program, context);
  addContextCommands(program, context);
  addRunCommand(program, context);
  addQueueCommands(program, context);
  addProviderCommands(program, context);
  addDeadLetterCommands(program, context);
  addEventCommands(program, context);
  addSubscriptionCommands(program, context);
  addMetricCommands(program, context);
  addWorkflowCommands(program, context);
  addAlarmCommands(program, context);
  addCredentialCommands(program, context);
  addInfoCommands(program, context);
  addCompletionCommands(program, context);
  return program;
}
