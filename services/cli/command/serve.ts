/** `anneal serve` */
import type { Command } from '@commander-js/extra-typings';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import type { CliContext } from '../context.ts';
import { exampleText, wholeNumber } from '../options/options.ts';

export function addServeCommand(program: Command, context: CliContext): void {
  program
    .command('serve')
    .description('run all services in one process, plus a lab of simulated machines; or run one service alone')
    .argument('[service]', 'run only this service: gateway, identity, scheduling, …')
    .option('--data <folder>', 'folder for all data', context.environment['ANNEAL_DATA'] ?? '.anneal')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--port <port>',
      'port to listen on; 0 picks a free port and uses it again at the next start',
      wholeNumber,
      8470,
    )
    .option('--lab <machines>', 'number of machines in the lab', wholeNumber, 6)
    .option('--no-lab', 'start no lab; the operator enrols nodes')
    .option('--bus <url>', 'broker (default: embedded)')
    .option('--store <url>', 'database (default: embedded)')
    .option('--separate', 'run each service in its own processes; requires --bus and --store')
    .option(
      '--replicas <service=count>',
      'with --separate: number of processes of a service; may be repeated',
      (text: string, before: readonly string[]) => [...before, text],
      [] as readonly string[],
    )
    .addHelpText(
      'after',
      exampleText(
        'serve',
        'serve --port 9000 --data /var/lib/anneal --no-lab',
        'serve --lab 20',
        'serve --port 0 --data /tmp/try',
        'serve scheduling --bus amqp://broker --store mongodb://database/anneal',
        'serve --separate --replicas scheduling=2 --bus nats://127.0.0.1 --store mongodb://127.0.0.1/anneal',
      ),
    )
    .action(async (service, options) => {
      // Import the services here, because all other commands start faster without them.
      const { serve, serveOne } = await import('../serve/serve.ts');
      if (service !== undefined) {
        const { data, bus, store } = options;
        await serveOne({ context, name: service, data, bus, store });
        return;
      }
      await serve({
        context,
        data: options.data,
        host: options.host,
        port: options.port,
        machines: options.lab === false || options.lab === 0 ? undefined : options.lab,
        bus: options.bus,
        store: options.store,
        separate: options.separate ? readReplicas(options.replicas) : undefined,
      });
    });
}

/** @throws AnnealError InvalidRequest for a text that is not `<service>=<count>`. */
function readReplicas(texts: readonly string[]): Partial<Record<ServiceName, number>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [service = '', count = ''] = text.split('=');
      if (!serviceNames.some((name) => name === service) || !/^[1-9]\d?$/.test(count)) {
        throw new AnnealError(
          'InvalidRequest',
          `--replicas must be <service>=<count>, with a count from 1 to 99, not ${text}.`,
        );
      }
      if (service === 'gateway' && count !== '1') {
        throw new AnnealError(
          'InvalidRequest',
          '--replicas gateway must be 1, because only one gateway on a machine can listen on the port.',
        );
      }
      return [service, Number(count)] as const;
    }),
  );
}
