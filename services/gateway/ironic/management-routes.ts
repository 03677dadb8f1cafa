/** The boot device and the sensors of a machine, read from its BMC during the request. */
import { bootDevices, nodeBootDevice, nodeBootDeviceSet, nodeSensors } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import type { NodePath } from './node-path.ts';

const deviceSchema = z.strictObject({ boot_device: z.enum(bootDevices), persistent: z.boolean().default(false) });

export function managementRoutes(scope: FastifyInstance, ask: Ask): void {
  const deviceOf = (node: string) => ask('provisioning', nodeBootDevice, { data: { node } });
  scope.get<NodePath>('/v1/nodes/:node/management/boot_device', async ({ params }) => {
    const { device, persistent } = await deviceOf(params.node);
    return { boot_device: device, persistent };
  });
  scope.get<NodePath>('/v1/nodes/:node/management/boot_device/supported', async ({ params }) => ({
    supported_boot_devices: (await deviceOf(params.node)).supported,
  }));
  scope.put<NodePath>('/v1/nodes/:node/management/boot_device', async (request, reply) => {
    const { boot_device: device, persistent } = parseField(deviceSchema, request.body, 'The boot device');
    await ask('provisioning', nodeBootDeviceSet, { data: { node: request.params.node, device, persistent } });
    return reply.code(204).send();
  });
  scope.get<NodePath>('/v1/nodes/:node/sensors', async ({ params: { node } }) =>
    ask('provisioning', nodeSensors, { data: { node } }),
  );
}
