/** The costs of things: the table of docs/reference/cost.md. */
import { hostCosts, nodeCosts } from './cost/machines.ts';
import { kinds, type Cost, type CostKind } from './cost/meter.ts';
import { costTable } from './cost/table.ts';
import { lifeCosts, streamCost, webhookCost } from './cost/stacks.ts';
import { embeddedHosts, openSite } from './hosts/site.ts';
import { rowLine, type Bench, type Row } from './report.ts';

const full = { resources: 2_000, nested: 400, hosts: 1_000, nodes: 500, seconds: 30, polls: 4 };
const short = { resources: 500, nested: 100, hosts: 200, nodes: 100, seconds: 10, polls: 2 };
const pollSeconds = 5;

export const costBench: Bench = {
  name: 'cost',
  measures: 'sources',
  notes: [
    'All services in one process on the embedded bus and store; hosts, listeners and lab are other processes.',
    'A cost is the difference between none and n things, or between few and many, divided by their number, with all that follows later.',
    'processor: of the server with its workers. calls: questions between services. written: to files and connections.',
    'memory: that is in use after a garbage collection, without the workers.',
  ],
  backends: ['embedded'],
  async run({ quick, say }) {
    const sizes = quick ? short : full;
    const rows: Row[] = [];
    /** `stays`: it takes memory from now on. The memory of what happens only varies with the caches. */
    const add = (thing: string, n: number, cost: Cost, { stays = false } = {}): void => {
      for (const kind of Object.keys(kinds) as CostKind[]) {
        if (kind === 'memory' && !stays) continue;
        const { title: metric, unit } = kinds[kind];
        const row = { bench: 'cost', case: thing, backend: 'embedded', n, metric, unit, value: cost[kind] };
        rows.push(row);
        say(rowLine(row));
      }
    };
    const opened = await embeddedHosts.open();
    if ('missing' in opened) throw new Error(opened.missing);
    const site = await openSite(opened, sizes.hosts, { ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true' });
    try {
      for (const [kind, title, n] of [
        ['value', 'a resource answered at once (`OS::Heat::Value`)', sizes.resources],
        ['test resource', 'a resource answered by message (`OS::Heat::TestResource`)', sizes.resources],
        ['nested stack', 'a nested stack with one `OS::Heat::Value`', sizes.nested],
      ] as const) {
        const { created, deleted } = await lifeCosts(site, n, kind);
        add(`${title}, created`, n, created, { stays: true });
        add(`${title}, deleted`, n, deleted);
      }
      add('an event to a webhook', sizes.resources, await webhookCost(site, sizes.resources));
      add('an event to an event stream', sizes.resources, await streamCost(site, sizes.resources));
      const hosts = await hostCosts(site, sizes.seconds);
      add('a host that connects', sizes.hosts, hosts.connected, { stays: true });
      add('an idle host, per long poll', sizes.hosts, hosts.poll);
      add('a config on a host', sizes.hosts, hosts.config);
    } finally {
      await site.close();
      await opened.close();
    }
    const nodes = await nodeCosts(sizes.nodes, { pollSeconds, polls: sizes.polls });
    add('a node that is enrolled', sizes.nodes, nodes.enrolled, { stays: true });
    add('an idle node, per poll', sizes.nodes, nodes.poll);
    say(`\n${costTable(rows)}`);
    return rows;
  },
};
