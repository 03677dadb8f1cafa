/** `anneal hook …`: resources that wait for an operator or another external system. */
import { withPaths } from '@anneal/client/nested.ts';
import { Argument, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatAge } from '../print/time.ts';
import { examples, formatOption } from './options.ts';

export function addHookCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program.command('hook').description('Resources that wait for someone outside to say go');
  noun
    .command('list <stack>')
    .description('list what waits, in nested stacks too')
    .addOption(formatOption())
    .addHelpText('after', examples('hook list web'))
    .action(async (stack, { output: format }) => {
      const resources = await (await context.client()).stacks.resources({ stack, depth: 100 });
      const rows = withPaths(resources).flatMap(({ hook, ...resource }) => (hook ? [{ ...resource, hook }] : []));
      output.list(format, {
        rows,
        none: `Nothing in ${stack} waits.`,
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
    .description('let a resource go on that waits at a hook of the environment')
    .addHelpText('after', examples('hook clear web server pre-update', 'hook clear web group/0/server pre-create'))
    .action(async (stack, resource, hook) => {
      await (await context.client()).actions.actOn({ stack, resource, action: { kind: 'clear hook', hook } });
      output.line(`Cleared ${hook} on ${resource} of ${stack}.`);
    });
  noun
    .command('complete <stack> <resource> <hook>')
    .addArgument(new Argument('<result>', 'what becomes of it').choices(['continue', 'abandon'] as const))
    .description('end the wait of a lifecycle hook')
    .requiredOption('--token <token>', 'from the event that told of the wait')
    .addHelpText('after', examples('hook complete web group/0 terminating continue --token 4711…'))
    .action(async (stack, resource, hook, result, { token }) => {
      const action = { kind: 'complete hook', hook, token, result } as const;
      await (await context.client()).actions.actOn({ stack, resource, action });
      output.line(`Completed ${hook} on ${resource} of ${stack}: ${result}.`);
    });
  noun
    .command('heartbeat <stack> <resource> <hook>')
    .description('keep a lifecycle hook waiting while you are at it')
    .requiredOption('--token <token>', 'from the event that told of the wait')
    .addHelpText('after', examples('hook heartbeat web group/0 terminating --token 4711…'))
    .action(async (stack, resource, hook, { token }) => {
      const action = { kind: 'heartbeat', hook, token } as const;
      await (await context.client()).actions.actOn({ stack, resource, action });
      output.line(`${hook} on ${resource} of ${stack} goes on waiting.`);
    });
}
