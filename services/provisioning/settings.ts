import { defineSettings, listIn } from '@anneal/runtime/service/settings.ts';
import { eraseModes } from '@anneal/contracts/calls/node-fields.ts';
import { z } from 'zod';
import type { SlotLimits } from './nodes/slots/admission.ts';
import { normalTrust, trustProblem } from './documents/trust.ts';

const seconds = (fallback: number) => z.coerce.number().positive().max(86_400).default(fallback);

const names = z
  .string()
  .transform((text) => (text.trim() === 'none' ? [] : text.split(',').map((each) => each.trim())))
  .refine((list) => list.every((each) => each !== ''), 'must be names separated by commas');
const pairs = z
  .string()
  .transform((text) => text.split(',').map((each) => each.split('=').map((part) => part.trim())))
  .refine(
    (list) => list.every(({ length, 0: name, 1: value }) => length === 2 && name !== '' && value !== ''),
    'must be name=value pairs separated by commas',
  )
  .transform((list) => Object.fromEntries(list.map(([name = '', value = '']) => [name, value])));

const limitNames: readonly string[] = ['total', 'rack', 'power_domain'];
const deployLimitNames: readonly string[] = [...limitNames, 'image_server'];
/** `total=250,rack=20`: a limit that is left out does not exist. */
const limitsOf = (allowed: readonly string[]) =>
  pairs
    .superRefine((given, context) => {
      for (const [name, value] of Object.entries(given)) {
        if (!allowed.includes(name))
          context.addIssue({ code: 'custom', message: `must name ${allowed.join(', ')}, not ${name}` });
        else if (!/^[1-9]\d{0,6}$/.test(value))
          context.addIssue({ code: 'custom', message: `${name} must be a whole number of at least 1, not ${value}` });
      }
    })
    .transform((given): SlotLimits =>
      Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Number(value)])),
    );
const readLimits = limitsOf(limitNames);
const limitCost =
  'A lower value makes nodes wait for a slot; a higher value loads the network, the image server and the power feeds more at the same time.';

export const settings = defineSettings({
  bootSeconds: {
    env: 'ANNEAL_PROVISIONING_BOOT_SECONDS',
    schema: seconds(1800),
    meaning:
      'Time from power-on until the agent must first ask for work; after it the server fails. A machine that reports progress while it writes its image has the time of ANNEAL_PROVISIONING_STALL_SECONDS instead, and this time once more for the start from its disk.',
    cost: 'A lower value fails slow machines; a higher value lets a stack wait longer for a dead one.',
  },
  stallSeconds: {
    env: 'ANNEAL_PROVISIONING_STALL_SECONDS',
    schema: seconds(300),
    meaning:
      'Time that a machine which reports progress may write, or read back, no further byte of its image; after it the deployment fails.',
    cost: 'A lower value fails machines whose image server pauses; a higher value detects a machine that hangs later.',
  },
  totalSeconds: {
    env: 'ANNEAL_PROVISIONING_TOTAL_SECONDS',
    schema: seconds(21_600),
    meaning:
      'Time from power-on until the agent must ask for work when the machine reports progress, however much it makes. A higher ANNEAL_PROVISIONING_BOOT_SECONDS counts instead.',
    cost: 'A lower value fails large images on slow networks; a higher value lets a machine that makes hardly any progress work longer.',
  },
  bootRetrySeconds: {
    env: 'ANNEAL_PROVISIONING_BOOT_RETRY_SECONDS',
    schema: seconds(600),
    meaning:
      'Time that a powered-on machine may take to prove its boot. After it the machine is reset and booted again, at most twice. A machine whose BMC reports progress of the power-on self-test is not reset.',
    cost: 'A lower value resets machines with a long self-test and no progress report; a higher value delays the retry of a failed boot.',
  },
  bootLoadSeconds: {
    env: 'ANNEAL_PROVISIONING_BOOT_LOAD_SECONDS',
    schema: z.coerce.number().int().min(10).max(86_400).default(60),
    meaning:
      'Time after which a machine is reset whose firmware got only a part of its boot file, as after the end of the server that sent it, and asked for nothing more. It counts among the retries of a boot. A machine in its power-on self-test is not reset.',
    cost: 'A lower value resets machines whose firmware pauses while it loads; a higher value delays their next boot.',
  },
  bmcSeconds: {
    env: 'ANNEAL_PROVISIONING_BMC_SECONDS',
    schema: seconds(300),
    meaning:
      'Time that the service retries a request to a management controller (BMC) that does not answer or refuses, before the step fails.',
    cost: 'A lower value fails while a controller reboots (1 to 3 minutes); a higher value delays the error report.',
  },
  cleanSeconds: {
    env: 'ANNEAL_PROVISIONING_CLEAN_SECONDS',
    schema: seconds(3600),
    meaning: 'Time that a machine may take to boot, erase its disks and report, before cleaning fails.',
    cost: 'A lower value fails machines with large disks; a higher value detects a machine that does not boot later.',
  },
  stepsSeconds: {
    env: 'ANNEAL_PROVISIONING_STEPS_SECONDS',
    schema: seconds(7200),
    meaning:
      'Time that the steps of an operator, a runbook or a deploy template may take together (BIOS, RAID, firmware, pauses by power.wait), beside the time of the state.',
    cost: 'A lower value fails long firmware updates; a higher value reports a step that never ends later.',
  },
  deployAttempts: {
    env: 'ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS',
    schema: z.coerce.number().int().min(1).max(100).default(3),
    meaning:
      'Most nodes on which a new server is deployed before it fails. The next node is used once the failed machine is proven to be off.',
    cost: 'A higher value lets a wrong image or template make more nodes unavailable before the server fails.',
  },
  lossesADay: {
    env: 'ANNEAL_PROVISIONING_LOSSES_A_DAY',
    schema: z.coerce.number().int().min(1).max(1000).default(3),
    meaning:
      'Number of losses in 24 hours after which no server gets a machine until a person clears it: its power went off, or its server ended while its host was silent, without an order. After fewer it is placed last.',
    cost: 'A lower value takes machines out of use after failures of the network or the power feed; a higher value lets a bad machine take more servers down.',
  },
  fenceProgram: {
    env: 'ANNEAL_PROVISIONING_FENCE_PROGRAM',
    schema: z
      .string()
      .max(4096)
      .refine((path) => path === '' || path.startsWith('/'), 'must be an absolute path')
      .default(''),
    meaning:
      'Program that turns a machine off when its BMC does not: it gets the arguments `off NODE` and the node as JSON on its standard input. Exit status 0 proves that the machine is off. Empty: only the BMC proves it.',
    cost: 'A program that confirms too early lets two machines run with one identity.',
  },
  deploys: {
    env: 'ANNEAL_PROVISIONING_DEPLOYS',
    schema: limitsOf(deployLimitNames).default({ total: 250, image_server: 50 }),
    meaning:
      'Most nodes that are deployed or rebuilt at the same time, as `total=250,rack=20,power_domain=100,image_server=50`: in all, in a rack, in a power domain, and with images from one server. A part that is left out sets no limit. Free slots go to the project with the fewest.',
    cost: limitCost,
  },
  cleans: {
    env: 'ANNEAL_PROVISIONING_CLEANS',
    schema: readLimits.default({ total: 250 }),
    meaning: 'Most nodes that are cleaned at the same time by steps that erase no disk, in the same form.',
    cost: limitCost,
  },
  erases: {
    env: 'ANNEAL_PROVISIONING_ERASES',
    schema: readLimits.default({ total: 250 }),
    meaning: 'Most nodes that erase their disks at the same time, in the same form.',
    cost: limitCost,
  },
  cleanOnProvide: {
    env: 'ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE',
    schema: z.stringbool().default(false),
    meaning: 'Clean a machine also before its first use, not only after each use.',
    cost: 'True boots every new machine once and erases its disks.',
  },
  verifyCa: {
    env: 'ANNEAL_PROVISIONING_VERIFY_CA',
    schema: z
      .string()
      .default('true')
      .transform(normalTrust)
      .superRefine((trust, context) => {
        const problem = trustProblem(trust);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      }),
    meaning:
      'How to verify the TLS certificates of management controllers: true (system authorities), false (no check), the path of a CA file, or sha256:… of one certificate. A node can override it (redfish_verify_ca).',
    cost: 'False lets an attacker between service and controller read the credentials.',
  },
  placeholderIds: {
    env: 'ANNEAL_PROVISIONING_PLACEHOLDER_IDS',
    schema: z
      .string()
      .default('')
      .transform((text) => new Set(listIn(text.toLowerCase()))),
    meaning:
      'System UUIDs and serial numbers, separated by commas, that identify no machine because many machines report them. Common placeholders (all zeros, all Fs, vendor defaults) are built in.',
    cost: 'A listed value can no longer show that two nodes are the same machine.',
  },
  nodes: {
    env: 'ANNEAL_PROVISIONING_NODES',
    schema: z.coerce.number().int().min(1).max(10_000_000).default(100_000),
    meaning: 'Maximum number of nodes of all projects together.',
    cost: 'Each node takes up to 300 KiB of the store and one request to its management controller in each round of the power poll.',
  },
  erase: {
    env: 'ANNEAL_PROVISIONING_ERASE',
    schema: z.enum(eraseModes).default('express'),
    meaning:
      'How cleaning erases disks: metadata (partition tables and the ends of each disk), express (the disk erases itself where it can within minutes, else as metadata) or full (the disk erases itself, else all of it is overwritten). The property `erase` of a node overrides it.',
    cost: 'metadata leaves data that tools can read; full overwrites disks that cannot erase themselves, which takes hours.',
  },
  testDriver: {
    env: 'ANNEAL_PROVISIONING_TEST_DRIVER',
    schema: z.stringbool().default(false),
    meaning:
      'Allow nodes of the driver fake-hardware, which have no machine: for tests of clients and automation. Servers of stacks never get one.',
    cost: 'True lets an operator enrol nodes on which nothing runs.',
  },
  pollSeconds: {
    env: 'ANNEAL_PROVISIONING_POWER_POLL_SECONDS',
    schema: seconds(60),
    meaning: 'Interval between readings of the power state of each machine.',
    cost: 'A lower value loads the controllers (one request per machine); a higher value detects an unreachable one later, after three failed readings.',
  },
  sensorSeconds: {
    env: 'ANNEAL_PROVISIONING_SENSOR_SECONDS',
    schema: z.coerce.number().int().min(0).max(86_400).default(0),
    meaning:
      'Interval between readings of the sensors of each machine for the metrics `anneal_node_sensor` and `anneal_node_sensor_alarm`. A reading follows one of the power, so it is never more frequent. 0 reads none: `anneal node sensors` always reads them.',
    cost: 'A lower value loads the controllers, with a request for each sensor. Each machine has about twenty series.',
  },
  bmcEvents: {
    env: 'ANNEAL_PROVISIONING_BMC_EVENTS',
    schema: z.stringbool().default(true),
    meaning:
      'Follow the events of management controllers that send them as a stream (ServerSentEventUri of Redfish) or to a subscription, so that a change of power is noticed at once and not at the next reading.',
    cost: 'True holds one connection to each controller with a stream open, and takes one subscription of each other one. Those must reach the address of the gateway.',
  },
  images: {
    env: 'ANNEAL_PROVISIONING_IMAGES',
    schema: names.default([
      'any',
      'cirros',
      'centos',
      'debian',
      'debian-12',
      'debian-13',
      'fedora',
      'fedora-19-i386-heat-cfntools',
      'overcloud-full',
      'rocky-9',
      'ubuntu',
      'ubuntu-22.04',
      'ubuntu-24.04',
    ]),
    meaning:
      'Names of images that servers may use besides those of `anneal image add`, separated by commas: for machines that install themselves, as those of the lab. A template with another image is refused. `none` accepts no such name: the default of `anneal serve --no-lab` once the ramdisk is built, which cannot install an image without content.',
    cost: 'An image that the ramdisk of the machines cannot install fails at the boot instead of at the create.',
  },
  flavors: {
    env: 'ANNEAL_PROVISIONING_FLAVORS',
    schema: pairs.default({
      any: 'baremetal',
      small: 'baremetal',
      'm1.tiny': 'baremetal',
      'm1.small': 'baremetal',
      'm1.medium': 'baremetal',
      'm1.large': 'baremetal',
      'm1.xlarge': 'baremetal',
    }),
    meaning:
      'Resource class for each flavor, as `m1.small=baremetal,…`. A flavor that is not listed is the name of a resource class.',
    cost: 'Servers with a listed flavor get any machine of that class, whatever its size.',
  },
});
