/** The boot device, the interrupt and the sensors of a machine: its BMC answers during the request. */
import { nodeBootDevice, nodeBootDeviceSet, nodeInterrupt, nodeSensors } from '@anneal/contracts/calls/provisioning.ts';
import { bootDevices } from '@anneal/contracts/node-choices.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/input.ts';
import type { NodePath } from './node-path.ts';
import { described } from '../http/document.ts';

const deviceSchema = z.strictObject({ boot_device: z.enum(bootDevices), persistent: z.boolean().default(false) });

const showsDevice = described({
  summary: 'Show the boot device of a machine.',
  answer: z.object({ boot_device: z.string().nullable(), persistent: z.boolean().nullable() }),
});
const listsDevices = described({
  summary: 'List the boot devices that a machine supports.',
  answer: z.object({ supported_boot_devices: z.array(z.string()) }),
});
const setsDevice = described({ summary: 'Set the boot device of a machine.', body: deviceSchema });
const emptySchema = z.strictObject({}).optional();
const interrupts = described({ summary: 'Send a non-maskable interrupt (NMI) to a machine.', body: emptySchema });
const readsSensors = described({ summary: 'Read the sensors of a machine.', answer: nodeSensors.answer });

export function managementRoutes(scope: FastifyInstance, ask: Ask): void {
  const deviceOf = (node: string) => ask('provisioning', nodeBootDevice, { data: { node } });
  scope.get<NodePath>('/v1/nodes/:node/management/boot_device', showsDevice, async ({ params }) => {
    const { device, persistent } = await deviceOf(params.node);
    return { boot_device: device, persistent };
  });
  scope.get<NodePath>('/v1/nodes/:node/management/boot_device/supported', listsDevices, async ({ params }) => ({
    supported_boot_devices: (await deviceOf(params.node)).supported,
  }));
  scope.put<NodePath>('/v1/nodes/:node/management/boot_device', setsDevice, async (request, reply) => {
    const { boot_device: device, persistent } = parseField(deviceSchema, request.body, 'The boot device');
    await ask('provisioning', nodeBootDeviceSet, { data: { node: request.params.node, device, persistent } });
    return reply.code(204).send();
  });
  scope.put<NodePath>(
    '/v1/nodes/:node/management/inject_nmi',
    interrupts,
    async ({ body, params: { node } }, reply) => {
      parseField(emptySchema, body, 'The interrupt');
      await ask('provisioning', nodeInterrupt, { data: { node } });
      return reply.code(204).send();
    },
  );
  scope.get<NodePath>('/v1/nodes/:node/sensors', readsSensors, async ({ params: { node } }) =>
    ask('provisioning', nodeSensors, { data: { node } }),
  );
}
