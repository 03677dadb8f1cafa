/** `anneal hook …`: resources that wait for an operator or another external system. */
import { withPaths } from '@anneal/client/nested.ts';
import { Argument, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addHookCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program.command('hook').description('list and release hooks that are holding resources');
  noun
    .command('list <stack>')
    .description('list the resources that wait at hooks, also in nested stacks')
    .addOption(formatOption())
    .addHelpText('after', exampleText('hook list web'))
    .action(async (stack, { output: format }) => {
      const resources = await (await context.part('stacks')).resources({ stack, depth: 100 });
      const rows = withPaths(resources).flatMap(({ hook, ...resource }) => (hook ? [{ ...resource, hook }] : []));
      output.list(format, {
        rows,
        none: `No hooks are waiting in stack ${stack}.`,
        columns: {
          resource: (row) => row.path,
          hook: (row) => row.hook.name,
          kind: (row) => row.hook.kind,
          since: (row) => formatAge(row.hook.since, context.now()),
          until: (row) => row.hook.deadline,
        },
      });
    });
  noun
    .command('clear <stack> <resource> <hook>')
    .description('release a resource that waits at a hook of the environment')
    .addHelpText('after', exampleText('hook clear web server pre-update', 'hook clear web group/0/server pre-create'))
    .action(async (stack, resource, hook) => {
      await (await context.part('actions')).actOn({ stack, resource, action: { kind: 'clear hook', hook } });
      output.line(`Cleared ${hook} on ${resource} of ${stack}.`);
    });
  noun
    .command('complete <stack> <resource> <hook>')
    .addArgument(
      new Argument('<result>', 'continue or abandon the action on the resource').choices([
        'continue',
        'abandon',
      ] as const),
    )
    .description('complete a lifecycle hook')
    .requiredOption('--token <token>', 'token from the event that reported the wait')
    .addHelpText('after', exampleText('hook complete web group/0 terminating continue --token 4711…'))
    .action(async (stack, resource, hook, result, { token }) => {
      const action = { kind: 'complete hook', hook, token, result } as const;
      await (await context.part('actions')).actOn({ stack, resource, action });
      output.line(`Completed ${hook} on ${resource} of ${stack}: ${result}.`);
    });
  noun
    .command('heartbeat <stack> <resource> <hook>')
    .description("extend a lifecycle hook's timeout")
    .requiredOption('--token <token>', 'token from the event that reported the wait')
    .addHelpText('after', exampleText('hook heartbeat web group/0 terminating --token 4711…'))
    .action(async (stack, resource, hook, { token }) => {
      const action = { kind: 'heartbeat', hook, token } as const;
      const { deadline } = await (await context.part('actions')).actOn({ stack, resource, action });
      output.line(`Extended ${hook} on ${resource} of ${stack}${deadline === undefined ? '' : ` until ${deadline}`}.`);
    });
}
