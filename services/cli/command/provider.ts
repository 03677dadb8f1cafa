/** `anneal provider …` */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, jsonIn, type JsonObject } from '@anneal/contracts/plain-json.ts';
import type { Verdict } from '@anneal/provider/conformance/check.ts';
import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

const jsonMap = (text: string): JsonObject => {
  const value = jsonIn(text);
  if (value === undefined) throw new InvalidArgumentError('It is not JSON.');
  if (!isObject(value)) throw new InvalidArgumentError('It is not a JSON object.');
  return value;
};

export function addProviderCommands(program: Command, context: CliContext): void {
  const { output, environment } = context;
  const noun = program.command('provider').description('check programs of your own that provide resource types');
  noun
    .command('check')
    .description('check that a running provider, in any language, keeps the guarantees that the engine relies on')
    .requiredOption('--type <type>', 'the resource type to create')
    .requiredOption('--properties <json>', 'its properties; {id} becomes another text for each resource', jsonMap)
    .option('--changed <json>', 'other values for properties that change in place', jsonMap)
    .option('--endless <json>', 'properties with which a creation does not complete', jsonMap)
    .option('--bus <url>', 'the broker, amqp://… or nats://… (default: ANNEAL_BUS_URL)')
    .option('--queue <queue>', 'the queue of the provider, when Anneal itself runs on this broker')
    .option('--within <seconds>', 'how long an answer may take', positiveInteger, 30)
    .addOption(formatOption())
    .argument(
      '[command...]',
      'the program of the provider, after --: the check starts it, kills it and starts it again',
    )
    .addHelpText(
      'after',
      exampleText(
        'provider check --bus amqp://127.0.0.1?prefix=check. --type Example::File --properties \'{"name":"{id}"}\'',
      ),
    )
    .action(async (command, { type, properties, changed, endless, queue, within, output: format, bus }) => {
      const url = bus ?? environment['ANNEAL_BUS_URL'];
      if (url === undefined) throw new AnnealError('InvalidRequest', 'Name the broker: --bus, or ANNEAL_BUS_URL.');
      const show = ({ id, title, verdict, reason }: Verdict): void => {
        const { colors } = output;
        const mark = { kept: colors.green('✓'), broken: colors.red('✗'), 'not checked': colors.dim('–') }[verdict];
        output.line(`${mark} ${id.padEnd(3)} ${title}`);
        if (reason !== '') output.line(`      ${verdict}: ${reason}`);
      };
      // Only this command speaks to a broker, so the others do not wait for its driver.
      const { checkProvider } = await import('@anneal/provider/conformance/check.ts');
      const verdicts = await checkProvider({
        url,
        type,
        properties,
        ...(changed && { changed }),
        ...(endless && { endless }),
        ...(queue !== undefined && { queue }),
        command,
        withinMs: within * 1000,
        signal: context.interrupt,
        onVerdict: (verdict) => format === 'table' && show(verdict),
      });
      if (format !== 'table') output.value(format, verdicts);
      const broken = verdicts.filter(({ verdict }) => verdict === 'broken').map(({ id }) => id);
      const checked = verdicts.filter(({ verdict }) => verdict !== 'not checked').length;
      if (broken.length === 0) output.note(`The provider keeps all ${checked} guarantees that were checked.`);
      else throw new AnnealError('ResourceFailed', `The provider breaks ${broken.join(', ')}, of ${checked} checked.`);
    });
}
