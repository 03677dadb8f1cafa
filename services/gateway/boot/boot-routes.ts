/**
 * Routes by which a booting machine fetches, exchanges and reports. The credential of the exchange is the secret in the
 * address, which only the BMC received. The credential of the report is the token from the exchange. Guessing is slowed
 * down, and no secret is logged.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import {
  bootDocumentSchema,
  bootDocumentShow,
  bootExchange,
  bootFind,
  bootImage,
  bootKeySchema,
  bootLoad,
  bootMachineSchema,
  bootPowersOffSchema,
  bootProgress,
  bootReport,
  bootReportCodes,
  bootReportStatuses,
  bootSeedSchema,
  bootUnreachableSchema,
  type BootDocument,
} from '@anneal/contracts/calls/boot.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { heartbeatShape } from '@anneal/contracts/node-progress.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import { sendContent } from '../images/send-content.ts';
import type { ImageUploads } from '../images/uploads.ts';
import { followLoad } from './loads.ts';
import { Ramdisk } from './ramdisk.ts';
import { bootScript } from './steps.ts';

export interface BootOptions {
  ask: Ask;
  images: Pick<ImageUploads, 'read' | 'dataOf'>;
  now: () => number;
  wording: FamilyWording;
  /** Folder with the ramdisk. Undefined for the one that the build writes. */
  ramdisk: string | undefined;
  /** Under which machines reach this server. The network of their BMCs may have another address for it. */
  gatewayUrl: string;
  report: (error: unknown, request: FastifyRequest) => void;
}

const shellType = 'text/x-shellscript';

/**
 * The files that firmware and iPXE load, by the end of the address, by which BMCs and firmware recognise it. The kernel of iPXE gets
 * its parameters from the script, and a boot of it is complete with the initial file system. A BMC reads an ISO in parts
 * and as it likes, so the reading of one says nothing about its machine.
 */
const bootFiles = [
  { name: 'boot.iso', file: 'ramdisk.iso', inside: true, follow: false, isLast: true },
  { name: 'boot.efi', file: 'ramdisk.efi', inside: true, follow: true, isLast: true },
  { name: 'vmlinuz', file: 'vmlinuz', inside: false, follow: true, isLast: false },
  { name: 'initrd.img', file: 'initrd.img', inside: false, follow: true, isLast: true },
] as const;

/** The script of a machine that boots by iPXE. */
const ipxeScript = (base: string, secret: string): string => `#!ipxe
kernel ${base}/${secret}/vmlinuz initrd=initrd.img console=tty0 console=ttyS0,115200n8 panic=30 anneal.boot=${base}/${secret}
initrd --name initrd.img ${base}/${secret}/initrd.img
boot
`;

/** Slows down the guessing of secrets. */
type Guarded = <T>(request: FastifyRequest, work: () => Promise<T>) => Promise<T>;

interface GuardedOptions extends BootOptions {
  readonly guarded: Guarded;
  /** The address of these routes for machines. */
  readonly base: string;
}

/** The boot routes of machines, for firmware, iPXE, the ramdisk and the machine that writes its image. */
export function bootFamily(scope: FastifyInstance, options: BootOptions): void {
  readJsonBodies(scope);
  wordErrors(scope, options.wording, options.report);
  // Whole racks boot at once from one address, and only failures count.
  const attempts = new Attempts({
    now: options.now,
    what: 'Fetching what to boot with',
    free: 20,
    longestWaitMs: 30_000,
  });

  const guarded: Guarded = async ({ ip }, work) => {
    try {
      return await work();
    } catch (error) {
      const wrongSecret = hasCode(error, 'NotFound', 'Unauthorized', 'Forbidden');
      if (!wrongSecret) throw error;
      // Only wrong secrets have to wait. A right secret boots, whatever other requests come from its address.
      attempts.refused({ address: ip });
      throw new AnnealError(
        'NotFound',
        'Nothing to boot at this address: the secret is wrong or already used, or the node is no longer being deployed or cleaned. Boot the node again from its BMC.',
      );
    }
  };
  const base = `${options.gatewayUrl.replace(/\/$/, '')}/boot/v1`;
  const shared = { ...options, guarded, base };
  serveRoutes(scope, [...scriptRoutes(shared), ...fileRoutes(shared), exchangeRoute(shared), ...tokenRoutes(shared)]);
}

const documentOf = (
  { ask, guarded }: GuardedOptions,
  { request, secret }: { request: FastifyRequest; secret: string },
): Promise<BootDocument> => guarded(request, () => ask('provisioning', bootDocumentShow, { data: { secret } }));

const script = { answer: z.string(), answerType: 'text/plain' } as const;

/** The document of a boot, and the script that iPXE gets instead. */
function scriptRoutes(options: GuardedOptions): Route[] {
  const { ask, guarded, base } = options;
  return [
    // iPXE gets its script at the plain address too, because a DHCP server may chain to it.
    route({
      method: 'GET',
      path: '/{secret}',
      summary: 'Show the boot document; for iPXE, the script that boots.',
      headers: z.object({ 'user-agent': z.string().default('') }),
      answer: bootDocumentSchema,
      handle: async ({ params: { secret }, headers, request, reply }) => {
        const found = await documentOf(options, { request, secret });
        if (!headers['user-agent'].startsWith('iPXE/')) return found;
        return reply.type(script.answerType).send(ipxeScript(base, secret));
      },
    }),
    route({
      method: 'GET',
      path: '/{secret}/boot.ipxe',
      summary: 'Show the script by which iPXE boots.',
      ...script,
      handle: async ({ params: { secret }, request, reply }) => {
        await documentOf(options, { request, secret });
        void reply.type(script.answerType);
        return ipxeScript(base, secret);
      },
    }),
    route({
      method: 'GET',
      path: '/ipxe',
      summary: 'Show the script of the machine whose firmware has this UUID.',
      query: z.object({ uuid: z.string().default('') }),
      ...script,
      handle: ({ query: { uuid }, request, reply }) =>
        guarded(request, async () => {
          const { secret } = await ask('provisioning', bootFind, { data: { uuid } });
          void reply.type(script.answerType).header('cache-control', 'no-store');
          return ipxeScript(base, secret);
        }),
    }),
  ];
}

const bytes = z.string().meta({ format: 'binary' });

function fileRoutes(options: GuardedOptions): Route[] {
  const { ask, base, report, ramdisk: folder } = options;
  const ramdisk = new Ramdisk(folder);
  return bootFiles.map(({ name, file, inside, follow, isLast }) =>
    route({
      method: ['GET', 'HEAD'],
      path: `/{secret}/${name}`,
      summary: `Read ${name} of the ramdisk, or the part that the header Range names.`,
      headers: z.object({ accept: z.string().optional() }),
      answer: bytes,
      answerType: 'application/octet-stream',
      also: { 206: bytes, 416: null },
      handle: async ({ params: { secret }, headers: { accept }, request, reply }) => {
        const found = await documentOf(options, { request, secret });
        // A simulated machine reads the document instead of a ramdisk.
        if (accept === 'application/json') return found;
        const parameters = inside ? `anneal.boot=${base}/${secret}` : '';
        const onSend = (size: number): Promise<void> =>
          followLoad(reply.raw, {
            size,
            isLast,
            report: (load) => ask('provisioning', bootLoad, { data: { secret, ...load } }),
            onError: (error) => report(error, request),
          });
        return ramdisk.send(file, { request, reply, parameters, ...(follow && { onSend }) });
      },
    }),
  );
}

const exchangeRoute = ({ ask, images, guarded }: GuardedOptions): Route =>
  route({
    method: 'POST',
    path: '/{secret}/exchange',
    summary: `Exchange the secret for the seed, once; a client that accepts ${shellType} gets it as a script.`,
    headers: z.object({ accept: z.string().optional() }),
    body: z.object({ key: bootKeySchema, machine: bootMachineSchema }),
    answer: bootSeedSchema,
    handle: ({ params: { secret }, headers: { accept }, body, request, reply }) =>
      guarded(request, async () => {
        void reply.header('cache-control', 'no-store');
        const seed = await ask('provisioning', bootExchange, { data: { secret, ...body } });
        if (accept !== shellType) return seed;
        const data = seed.image?.kept === true ? await images.dataOf(seed.image.sha256) : undefined;
        return reply.type(`${shellType}; charset=utf-8`).send(bootScript(seed, data));
      }),
  });

const tokenHeader = z.object({ 'x-auth-token': z.string().default('') });

/** Routes for the token from the exchange. */
const tokenRoutes = ({ ask, images, guarded }: GuardedOptions): Route[] => [
  route({
    method: 'GET',
    path: '/image',
    summary: 'Read the content of the image that the machine writes now, or the part that the header Range names.',
    headers: tokenHeader,
    answer: bytes,
    answerType: 'application/octet-stream',
    also: { 206: bytes, 416: null },
    handle: async ({ headers: { 'x-auth-token': token }, request, reply }) => {
      const { name } = await guarded(request, () => ask('provisioning', bootImage, { data: { token } }));
      return sendContent(await images.read(name), { request, reply });
    },
  }),
  route({
    method: 'POST',
    path: '/progress',
    summary: 'Report how far the machine is that writes its image or erases its disks. A lost report changes nothing.',
    headers: tokenHeader,
    body: z.object(heartbeatShape),
    answer: bootProgress.answer,
    handle: ({ headers: { 'x-auth-token': token }, body, request }) =>
      guarded(request, () => ask('provisioning', bootProgress, { data: { token, ...body } })),
  }),
  route({
    method: 'POST',
    path: '/report',
    summary: 'Report the result of cleaning or of writing an image.',
    headers: tokenHeader,
    body: z.object({
      status: z.enum(bootReportStatuses),
      message: z.string().max(4096).default(''),
      code: z.enum(bootReportCodes).optional(),
      unreachable: bootUnreachableSchema,
      powers_off: bootPowersOffSchema,
    }),
    answer: bootReport.answer,
    also: { 204: null },
    handle: ({ headers: { 'x-auth-token': token }, body, request, reply }) =>
      guarded(request, async () => {
        const answer = await ask('provisioning', bootReport, { data: { token, ...body } });
        if (answer.settled === undefined) void reply.code(204);
        return answer;
      }),
  }),
];
