/** `anneal node dhcp-config` */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';
import { ipFamily } from '@anneal/contracts/readers/ip.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { dnsmasqConfig } from '../print/dnsmasq.ts';
import { exampleText } from '../options/options.ts';

export function addNodeDhcp(node: Command, context: CliContext): void {
  node
    .command('dhcp-config')
    .description('print a dnsmasq configuration for machines that boot by PXE')
    .requiredOption('--interface <name>', 'network interface of the computer that runs dnsmasq')
    .option('--range <addresses>', 'first and last address to give, e.g. 10.0.0.100,10.0.0.200')
    .option('--proxy <network>', 'network whose addresses another DHCP server gives, e.g. 10.0.0.0')
    .option('--url <url>', 'address of the server for the machines (default: that of this command)')
    .option('--ipxe <folder>', 'folder with undionly.kpxe and snponly.efi', '/usr/lib/ipxe')
    .addHelpText(
      'after',
      exampleText(
        'node dhcp-config --interface eno1 --range 10.0.0.100,10.0.0.200 --url http://10.0.0.1:8470',
        'node dhcp-config --interface eno1 --proxy 10.0.0.0 --url http://10.0.0.1:8470',
      ),
    )
    .action(async ({ interface: name, range, proxy, url, ipxe }) => {
      const [first = '', last = '', ...more] = range?.split(',') ?? [];
      const mistakes = [
        ...((range === undefined) === (proxy === undefined) ? ['give either --range or --proxy'] : []),
        ...(range !== undefined && !(ipFamily(first) === 4 && ipFamily(last) === 4 && more.length === 0)
          ? [`--range ${range} is not two IPv4 addresses with a comma between`]
          : []),
        ...(proxy !== undefined && ipFamily(proxy) !== 4 ? [`--proxy ${proxy} is not an IPv4 address`] : []),
        ...(/^[A-Za-z0-9._@:-]+$/.test(name) ? [] : [`--interface ${name} is not the name of an interface`]),
        ...(/[\s,]/.test(ipxe) ? ['--ipxe may have no spaces and commas'] : []),
        ...(url !== undefined && (readWebAddress(url) === undefined || url.includes(','))
          ? [`--url ${url} is not an HTTP address`]
          : []),
      ];
      if (mistakes.length > 0) throw new AnnealError('InvalidRequest', `No configuration: ${mistakes.join('; ')}.`);
      const server = url ?? (await context.client()).connection.url;
      context.output.line(
        dnsmasqConfig({
          url: server,
          interface: name,
          range: range === undefined ? undefined : [first, last],
          proxy,
          ipxe,
        }).trimEnd(),
      );
    });
}
