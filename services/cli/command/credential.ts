/** `anneal credential …` */
import { credentialRights, type CredentialRight } from '@anneal/contracts/calls/credentials.ts';
import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { idOf } from './named.ts';
import { collect, exampleText, formatOption, positiveInteger } from '../options/options.ts';

function collectRight(text: string, all: CredentialRight[]): CredentialRight[] {
  const right = credentialRights.find((each) => each === text);
  if (!right) throw new InvalidArgumentError(`Must be one of ${credentialRights.join(', ')}.`);
  return [...all, right];
}

export function addCredentialCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program
    .command('credential')
    .description('manage credentials of programs, which have few rights in one stack');
  noun
    .command('create <name>')
    .description('create a credential; its token and keys are shown once')
    .requiredOption('--stack <stack>', 'the stack that it is for, with everything nested in it')
    .option('--can <right>', `a right: ${credentialRights.join(', ')}; may be repeated`, collectRight, [])
    .option('--group <path>', 'group below the stack, which its measurements get as label')
    .option('--metric <name>', 'only measurements with this name; may be repeated', collect, [])
    .option('--expires <seconds>', 'seconds after which it expires (default: never)', positiveInteger)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'credential create shop --can metrics.post --stack web',
        'credential create lb --can events.read --can hooks.complete --stack web',
      ),
    )
    .action(async (name, { stack, can, group, metric, expires, output: format }) => {
      const created = await (
        await context.part('credentials')
      ).create({ name, can, stack, group, metrics: metric, expiresSeconds: expires });
      output.one(format, created, () => [
        ['id', created.credential.id],
        ['can', created.credential.can.join(', ')],
        ['stack', created.credential.stack.name],
        ['expires', created.credential.expires_at ?? 'never'],
        ['token', created.token],
        ['access key', created.access_key],
        ['secret key', created.secret_key],
      ]);
      if (format === 'table') output.note('Store the token and the secret key now: they are not shown again.');
    });
  noun
    .command('list')
    .description('list the credentials of programs')
    .addOption(formatOption())
    .addHelpText('after', exampleText('credential list', 'credential list -o json'))
    .action(async ({ output: format }) => {
      const rows = await (await context.part('credentials')).list();
      output.list(format, {
        rows,
        none: 'No credentials.',
        key: 'id',
        columns: {
          name: (row) => row.name,
          can: (row) => row.can.join(', '),
          stack: (row) => row.stack.name,
          status: (row, colors) => paintStatus(row.status, colors),
          expires: (row) => row.expires_at ?? 'never',
          age: (row) => formatAge(row.created_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('revoke <credential>')
    .description('revoke a credential; it stops working at once')
    .addHelpText('after', exampleText('credential revoke shop'))
    .action(async (given) => {
      const credentials = await context.part('credentials');
      const id = await idOf(given, { kind: 'credential', list: () => credentials.list() });
      await credentials.revoke({ credential: id });
      output.line(`Revoked the credential ${given}.`);
    });
}
