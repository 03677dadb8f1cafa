/** `anneal host join` and `anneal host delete`: hosts that exist without a stack. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { joinFormats, joinText } from '../print/join-text.ts';
import { readText } from '../options/files.ts';
import { exampleText } from '../options/options.ts';

export function addJoinCommands(host: Command, context: CliContext): void {
  const { output } = context;
  host
    .command('join <host>')
    .description('print the line with which a machine joins as a host, once; creates the host unless it exists')
    .addOption(
      new Option('--format <format>', 'form of the line; `seed` prints the seed of the Node agent, with the token')
        .choices(joinFormats)
        .default('line' as const),
    )
    .addOption(
      new Option('--cacert <file>', 'certificate of a private CA; `line` expects it at this path on the machine'),
    )
    .addOption(
      new Option(
        '--agent <agent>',
        'agent that the machine runs: `sh`, a script that needs curl or wget, or `full`, one file of 127 MB that needs glibc',
      ).choices(['sh', 'full']),
    )
    .addHelpText('after', exampleText('host join web1', 'host join web1 --format cloud-init --cacert ca.pem'))
    .action(async (name, { format, cacert, agent }) => {
      const text = cacert === undefined ? undefined : await readCertificate(cacert, context.cwd);
      const hosts = await context.part('hosts');
      const joined = await hosts.join({ host: name });
      if (format === 'seed') {
        output.value('json', await hosts.seed({ url: joined.url }));
        return;
      }
      const ca = cacert === undefined || text === undefined ? undefined : { file: cacert, text };
      output.line(joinText(format, { url: joined.url, ca, agent }).trimEnd());
      output.note(
        `Works once, until ${joined.expires_at}. Keep it secret: it makes a machine the host ${joined.host.name}.`,
      );
    });
  host
    .command('delete <host>')
    .description('delete a joined host with its queues; its agent stops getting work')
    .addOption(yesOption())
    .addHelpText('after', exampleText('host delete web1'))
    .action(async (name, { yes }) => {
      await confirm(context, { yes, what: () => [`Delete host ${name} with its queues. Its token stops working.`] });
      await (await context.part('hosts')).delete({ host: name });
      output.note(`Deleted host ${name}. On the machine, remove the agent: anneal-agent uninstall`);
    });
}

async function readCertificate(file: string, cwd: string): Promise<string> {
  const text = await readText(file, cwd);
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new AnnealError('InvalidRequest', `${file} holds no certificate in PEM form.`);
}
