import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';
import { normalTrust, trustProblem } from './redfish/trust.ts';

const seconds = (fallback: number) => z.coerce.number().positive().max(86_400).default(fallback);

const names = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .refine((list) => list.every((each) => each !== ''), 'expected names with commas between them');
const pairs = z
  .string()
  .transform((text) => text.split(',').map((each) => each.split('=').map((part) => part.trim())))
  .refine(
    (list) => list.every(({ length, 0: name, 1: value }) => length === 2 && name !== '' && value !== ''),
    'expected name=value with commas between them',
  )
  .transform((list) => Object.fromEntries(list.map(([name = '', value = '']) => [name, value])));

export const settings = defineSettings({
  bootSeconds: {
    env: 'ANNEAL_PROVISIONING_BOOT_SECONDS',
    schema: seconds(1800),
    meaning:
      'How long a machine may take from power-on until its agent first asks for work, before its server is failed.',
    cost: 'Less fails slow machines; more leaves a stack waiting longer for a dead one.',
  },
  bootRetrySeconds: {
    env: 'ANNEAL_PROVISIONING_BOOT_RETRY_SECONDS',
    schema: seconds(600),
    meaning:
      'How long a machine that is on may take to prove its boot before it is reset and booted again, twice at most. A machine whose BMC reports progress of its power-on self-test is not reset.',
    cost: 'Less resets machines that need long for their self-test and report no progress; more leaves a machine that missed its boot waiting.',
  },
  bmcSeconds: {
    env: 'ANNEAL_PROVISIONING_BMC_SECONDS',
    schema: seconds(300),
    meaning:
      'How long the service goes on asking a management controller that does not answer or refuses, before the step is failed.',
    cost: 'Less gives up on controllers that reboot (a minute or three); more delays the failure that names them.',
  },
  cleanSeconds: {
    env: 'ANNEAL_PROVISIONING_CLEAN_SECONDS',
    schema: seconds(3600),
    meaning: 'How long a machine may take to boot, erase itself and say so, before cleaning is failed.',
    cost: 'Less fails machines with large disks; more hides a machine that does not boot.',
  },
  cleanOnProvide: {
    env: 'ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE',
    schema: z.stringbool().default(false),
    meaning: 'Clean a machine when it is first made available, besides after each use.',
    cost: 'True boots every new machine once and erases what it came with.',
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
      'How the TLS certificates of management controllers are checked: true (authorities that the computer trusts), false (not at all), the path of a CA file, or sha256:… of one certificate. A node can differ (redfish_verify_ca).',
    cost: 'False lets whoever is between service and controller read the credentials.',
  },
  placeholderIds: {
    env: 'ANNEAL_PROVISIONING_PLACEHOLDER_IDS',
    schema: z
      .string()
      .default('')
      .transform(
        (text) =>
          new Set(
            text
              .toLowerCase()
              .split(',')
              .map((value) => value.trim())
              .filter((value) => value !== ''),
          ),
      ),
    meaning:
      'System UUIDs and serial numbers, separated by commas, that many of the machines report and that identify none of them; besides those that are known (all zeros, all Fs, defaults of vendors).',
    cost: 'A value that is named here no longer shows that two nodes are one machine.',
  },
  nodes: {
    env: 'ANNEAL_PROVISIONING_NODES',
    schema: z.coerce.number().int().min(1).max(10_000_000).default(100_000),
    meaning: 'How many nodes all projects may have together; one more is refused.',
    cost: 'Each node is a document of up to 300 KiB and one request to its management controller in each round of the power poll.',
  },
  pollSeconds: {
    env: 'ANNEAL_PROVISIONING_POWER_POLL_SECONDS',
    schema: seconds(60),
    meaning: 'How often the power of each machine is read.',
    cost: 'Less loads the controllers (one request per machine); more notices a lost one later: after three failed reads.',
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
      'Names of the images that servers may ask for, with commas between them. A template that names another image is refused.',
    cost: 'A name that the ramdisk of the machines cannot install fails at the boot and not at the create.',
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
      'Flavor to resource class, as `m1.small=baremetal,…`, for flavors that are not the name of a resource class. A server with any other flavor waits for a node of the class with that name.',
    cost: 'Each entry gives servers that were written for other clouds machines of that class, whatever size they asked for.',
  },
});
