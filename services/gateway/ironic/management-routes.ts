/** The boot device, the interrupt and the sensors of a machine: its BMC answers during the request. */
import {
  nodeBootDevice,
  nodeBootDeviceSet,
  nodeInterrupt,
  nodeSensors,
} from '@anneal/contracts/calls/node-hardware.ts';
import { bootDevices } from '@anneal/contracts/node-choices.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';

export function managementRoutes(ask: Ask): Route[] {
  const deviceOf = (node: string) => ask('provisioning', nodeBootDevice, { data: { node } });
  return [
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/management/boot_device',
      summary: 'Show the boot device of a machine.',
      answer: z.object({ boot_device: z.string().nullable(), persistent: z.boolean().nullable() }),
      handle: async ({ params }) => {
        const { device, persistent } = await deviceOf(params.node);
        return { boot_device: device, persistent };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/management/boot_device/supported',
      summary: 'List the boot devices that a machine supports.',
      answer: z.object({ supported_boot_devices: z.array(z.string()) }),
      handle: async ({ params }) => ({ supported_boot_devices: (await deviceOf(params.node)).supported }),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/management/boot_device',
      summary: 'Set the boot device of a machine.',
      body: z.strictObject({ boot_device: z.enum(bootDevices), persistent: z.boolean().default(false) }),
      handle: ({ params: { node }, body: { boot_device: device, persistent } }) =>
        ask('provisioning', nodeBootDeviceSet, { data: { node, device, persistent } }),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/management/inject_nmi',
      summary: 'Send a non-maskable interrupt (NMI) to a machine.',
      body: z.strictObject({}).optional(),
      handle: ({ params: { node } }) => ask('provisioning', nodeInterrupt, { data: { node } }),
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/sensors',
      summary: 'Read the sensors of a machine.',
      answer: nodeSensors.answer,
      handle: ({ params: { node } }) => ask('provisioning', nodeSensors, { data: { node } }),
    }),
  ];
}
