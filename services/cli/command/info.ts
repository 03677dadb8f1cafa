/** `anneal info` and `anneal service list` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { findLogin } from '../login.ts';
import { paintStatus } from '../print/status.ts';
import { exampleText, formatOption } from './options.ts';

export function addInfoCommands(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('info')
    .description('show the server that the commands connect to')
    .addOption(formatOption())
    .addHelpText('after', exampleText('info', 'info -o json'))
    .action(async ({ output: format }) => {
      const { info } = await import('@anneal/client/connect.ts');
      const login = await findLogin(context);
      const answer = { auth_url: login.authUrl, ...(await info({ url: login.authUrl, signal: context.interrupt })) };
      output.one(format, answer, () => Object.entries(answer).map(([key, value]) => [key, value]));
    });
  program
    .command('service')
    .description('inspect the services of the server')
    .command('list')
    .description('list the services and their health')
    .addOption(formatOption())
    .addHelpText('after', exampleText('service list'))
    .action(async ({ output: format }) => {
      const rows = await (await context.client()).services();
      const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      output.list(format, {
        rows,
        none: 'No services.',
        columns: Object.fromEntries(
          names.map((name) => [
            name,
            (row: Record<string, unknown>) => {
              const value = row[name];
              if (value === null || value === undefined) return '';
              const shown = typeof value === 'string' ? value : JSON.stringify(value);
              return name === 'status' ? paintStatus(shown, output.colors) : shown;
            },
          ]),
        ),
      });
    });
}
