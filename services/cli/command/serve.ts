/** `anneal serve` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { examples, wholeNumber } from './options.ts';

export function addServeCommand(program: Command, context: CliContext): void {
  program
    .command('serve')
    .description('run all services in one process, with a lab of simulated machines beside it')
    .option('--data <folder>', 'where everything is kept', context.environment['ANNEAL_DATA'] ?? '.anneal')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 for a free one, which is then kept', wholeNumber, 8470)
    .option('--lab <machines>', 'machines of the lab', wholeNumber, 6)
    .option('--no-lab', 'no lab: the nodes are enrolled by hand')
    .option('--bus <url>', 'broker; embedded when absent')
    .option('--store <url>', 'database; embedded when absent')
    .addHelpText(
      'after',
      examples(
        'serve',
        'serve --port 9000 --data /var/lib/anneal --no-lab',
        'serve --lab 20',
        'serve --port 0 --data /tmp/try',
      ),
    )
    .action(async (options) => {
      // Only this command needs the services; all others start faster without them.
      const { serve } = await import('../serve/serve.ts');
      await serve({
        context,
        data: options.data,
        host: options.host,
        port: options.port,
        machines: options.lab === false || options.lab === 0 ? undefined : options.lab,
        bus: options.bus,
        store: options.store,
      });
    });
}
