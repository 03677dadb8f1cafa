/** The parts of `npm run test:full`, the shortest first: the tests that take too long for `npm test`. */
import { mutations } from '@anneal/convergence/simulation/mutations.ts';

/** A program of this repository, started with Node. */
export interface PartCommand {
  readonly words: readonly string[];
  /** The program must end with status 1 and print this. Without it, it must end with status 0. */
  readonly fails?: RegExp;
}

/** A named part of the tests. */
export interface TestPart {
  readonly name: string;
  readonly description: string;
  /** Its usual duration on two processors. */
  readonly minutes: number;
  /** Minutes after which it is stopped and counts as failed. It may also install or build programs, once. */
  readonly limit: number;
  readonly commands: readonly PartCommand[];
  readonly env?: Readonly<Record<string, string>>;
  /** A file with a time. The part is skipped when this clone has no revision before it. */
  readonly revisionBefore?: string;
  /** Folders and globs of files. `--changed-since` runs the part when one of them has changed; pages only where named. */
  readonly folders: readonly string[];
}

const vitest = (...projects: string[]): PartCommand[] => [
  { words: ['node_modules/vitest/vitest.mjs', 'run', ...projects.flatMap((name) => ['--project', name])] },
];

const simulator = 'test/simulation/main.ts';
/** An invariant must find each broken rule. A rule that its file no longer contains is an error. */
const found = /^(?:seed \d+|a scenario): (?!.*does not contain)/m;

/** The folders that both adapters of a broker use. */
const bus = [
  'libs/bus/*',
  'libs/bus/{active,conformance,connect,consume,hosts,raw,send,sinks}',
  'services/notification/sinks',
];

/** The table of the parts. */
export const testParts: readonly TestPart[] = [
  {
    name: 'services',
    description: 'each service starts alone with plain node, becomes ready and stops',
    minutes: 1,
    limit: 5,
    commands: [{ words: ['test/start-each-service.ts'] }],
    folders: [
      'libs/runtime/service',
      'services/agent',
      'services/*/{main,service,settings}.ts',
      'services/cli/serve',
      'test/start-each-service.ts',
    ],
  },
  {
    name: 'seeds',
    description: 'the engine in the simulator: more seeds, and each broken rule must be found',
    minutes: 1,
    limit: 20,
    commands: [
      { words: [simulator, '--seeds', '1500'] },
      ...Object.keys(mutations).map((name) => ({
        words: [simulator, '--seeds', '600', '--mutation', name],
        fails: found,
      })),
    ],
    folders: ['libs/convergence', 'test/simulation'],
  },
  {
    name: 'upgrade',
    description: 'an installation of an earlier revision continues with this tree while work is in flight',
    minutes: 2,
    limit: 15,
    commands: [{ words: ['test/upgrade/main.ts'] }],
    revisionBefore: 'test/upgrade/from',
    folders: [
      'libs/{bus,contracts,store}',
      'services/{configuration,notification,provisioning,scheduling}',
      'test/upgrade',
    ],
  },
  {
    name: 'mongodb',
    description: 'the store on a real MongoDB or FerretDB, which is also killed',
    minutes: 2,
    limit: 15,
    commands: vitest('mongodb'),
    folders: ['libs/store/*', 'libs/store/{conformance,mongodb,raw}', 'test/backends/{mongodb.ts,ferretdb}'],
  },
  {
    name: 'pages',
    description: 'the commands of the pages, and what they print',
    minutes: 2,
    limit: 15,
    commands: vitest('pages'),
    folders: ['README.md', 'docs/**/*.md', 'examples/**/*.md', 'services/cli/{command,print}', 'test/docs/transcript'],
  },
  {
    name: 'nats',
    description: 'the bus on a real NATS, which is also killed',
    minutes: 2,
    limit: 20,
    commands: vitest('nats'),
    folders: ['libs/bus/nats', ...bus, 'test/backends/nats.ts'],
  },
  {
    name: 'together',
    description: 'services on real brokers and databases: outages, late starts, replicas, hosts, encryption',
    minutes: 3,
    limit: 25,
    commands: vitest('together'),
    folders: [...bus, 'libs/runtime/service', 'services/notification', 'services/configuration/queues'],
  },
  {
    name: 'agents',
    description: 'the agents on this machine, each with every shell: kills, power cuts, joins, replaced configs',
    minutes: 3,
    limit: 25,
    commands: vitest('agents'),
    folders: ['services/agent', 'services/gateway/shell', 'test/system/agents'],
  },
  {
    name: 'chaos',
    description: 'a server that is killed at random moments loses nothing',
    minutes: 3,
    limit: 30,
    commands: vitest('chaos'),
    folders: [
      'libs/{bus/embedded,runtime/work,store/sqlite}',
      'services/scheduling',
      'services/configuration/{deployments,hosts}',
      'test/chaos',
    ],
  },
  {
    name: 'rabbitmq',
    description: 'the bus on a real RabbitMQ, which is also killed',
    minutes: 4,
    limit: 25,
    commands: vitest('rabbitmq'),
    folders: ['libs/bus/rabbitmq', ...bus, 'test/backends/rabbitmq.ts'],
  },
  {
    name: 'soak',
    description: 'the product on real brokers and a database, in minutes',
    minutes: 7,
    limit: 25,
    commands: [{ words: ['test/soak.ts', '--short'] }],
    folders: [
      'libs/bus/active',
      'services/cli/{backup,serve}',
      'services/scheduling/{shard,shards}',
      'test/e2e/soak',
      'test/soak.ts',
    ],
  },
  {
    name: 'console',
    description: 'the web console in a real browser',
    minutes: 7,
    limit: 30,
    commands: vitest('console'),
    folders: ['services/console', 'services/gateway/console', 'services/gateway/api/events', 'test/e2e/console'],
  },
  {
    name: 'scenarios',
    description: 'operators and hosts with a whole server and its lab',
    minutes: 7,
    limit: 35,
    commands: vitest('scenarios'),
    folders: [
      'deploy/lab',
      'services/configuration/{contexts,deployments}',
      'services/provisioning/servers',
      'services/scheduling/{groups,nested,workflows}',
      'test/e2e/*',
      'test/e2e/{canary,imports}',
    ],
  },
  {
    name: 'scenarios-rabbitmq',
    description: 'the scenarios again, on RabbitMQ and a database',
    minutes: 11,
    limit: 45,
    commands: vitest('scenarios-rabbitmq', 'listeners-rabbitmq'),
    folders: ['libs/bus/rabbitmq', 'libs/store/mongodb'],
  },
  {
    name: 'scenarios-nats',
    description: 'the scenarios again, on NATS and a database',
    minutes: 11,
    limit: 45,
    commands: vitest('scenarios-nats', 'listeners-nats'),
    folders: ['libs/bus/nats', 'libs/store/mongodb'],
  },
  {
    name: 'machines',
    description: 'real firmware, ramdisk and disks in QEMU, behind the BMCs of the lab and of others, with power cuts',
    minutes: 12,
    limit: 60,
    commands: [...vitest('machines'), { words: ['test/demo/main.ts', '--real'] }],
    folders: [
      'deploy/{ramdisk,lab/qemu}',
      'services/gateway/boot',
      'services/provisioning/{boot,nodes/states,redfish}',
      'test/machines',
      'test/demo/real.ts',
    ],
  },
  {
    name: 'rolling',
    description:
      'two replicas of each service, of an earlier revision, are replaced one after the other, and then restarted',
    minutes: 14,
    limit: 45,
    commands: [{ words: ['test/upgrade/main.ts', '--rolling'] }],
    revisionBefore: 'test/upgrade/from',
    folders: ['test/upgrade/rolling.ts'],
  },
  {
    name: 'programs',
    description: 'programs that others wrote: clients, test suites, listeners, tools, agents',
    minutes: 15,
    limit: 90,
    commands: vitest('programs'),
    folders: [
      'clients',
      'deploy',
      'examples/{hosts,listener-go,listeners,python-provider}',
      'libs/{provider,tools}',
      'services/agent',
      'services/cli/{completion,package}',
      'services/configuration/{collectors,queues}',
      'services/gateway/{boot,cfn,collect,glance,heat,identity,ironic,metadata,mistral,shell,zaqar}',
      'services/provisioning/{boot,images,redfish}',
      'test/programs',
    ],
  },
  {
    name: 'cuts',
    description: 'one of two replicas of each service is cut off, stopped for a minute, or has another clock',
    minutes: 60,
    limit: 150,
    commands: [{ words: ['test/cuts/main.ts'] }],
    folders: ['libs/bus/active', 'libs/store/timers.ts', 'test/cuts'],
  },
];
