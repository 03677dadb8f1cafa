/**
 * Routes by which a booting machine fetches, exchanges and reports. The credential of the exchange is the secret in the
 * address, which only the BMC received. The credential of the report is the token from the exchange. Guessing is slowed
 * down, and no secret is logged.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootFind,
  bootImage,
  bootKeySchema,
  bootLoad,
  bootReport,
  bootReportCodes,
  bootReportStatuses,
  type BootDocument,
} from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { readJsonBodies } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { Attempts } from '../identity/attempts.ts';
import { sendContent } from '../images/send-content.ts';
import type { ImageUploads } from '../images/uploads.ts';
import { followLoad } from './loads.ts';
import { Ramdisk } from './ramdisk.ts';
import { bootScript } from './steps.ts';

export interface BootOptions {
  ask: Ask;
  images: Pick<ImageUploads, 'read'>;
  now: () => number;
  wording: FamilyWording;
  /** Folder with the ramdisk. Undefined for the one that the build writes. */
  ramdisk: string | undefined;
  /** Under which machines reach this server. The network of their BMCs may have another address for it. */
  gatewayUrl: string;
  report: (error: unknown, request: FastifyRequest) => void;
}

interface BootPath {
  Params: { secret: string };
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

const tokenIn = ({ headers }: FastifyRequest): string =>
  typeof headers['x-auth-token'] === 'string' ? headers['x-auth-token'] : '';

/** Slows down the guessing of secrets. */
type Guarded = <T>(request: FastifyRequest, work: () => Promise<T>) => Promise<T>;

const exchangeSchema = z.object({ key: bootKeySchema });
const reportSchema = z.object({
  status: z.enum(bootReportStatuses),
  message: z.string().max(4096).default(''),
  code: z.enum(bootReportCodes).optional(),
});

export function bootFamily(
  scope: FastifyInstance,
  { ask, images, now, wording, ramdisk: folder, gatewayUrl, report }: BootOptions,
): void {
  readJsonBodies(scope);
  wordErrors(scope, wording, report);
  // Whole racks boot at once from one address, and only failures count.
  const attempts = new Attempts({ now, what: 'Fetching what to boot with', free: 20, longestWaitMs: 30_000 });

  const guarded: Guarded = async ({ ip }, work) => {
    try {
      return await work();
    } catch (error) {
      const wrongSecret = hasCode(error, 'NotFound', 'Unauthorized', 'Forbidden');
      if (!wrongSecret) throw error;
      // Only wrong secrets have to wait. A right secret boots, whatever other requests come from its address.
      attempts.check(ip);
      attempts.failed(ip);
      throw new AnnealError(
        'NotFound',
        'Nothing to boot at this address: the secret is wrong or already used, or the node is no longer being deployed or cleaned. Boot the node again from its BMC.',
      );
    }
  };

  const document = (request: FastifyRequest<BootPath>): Promise<BootDocument> =>
    guarded(request, () => ask('provisioning', bootDocumentShow, { data: { secret: request.params.secret } }));
  const ramdisk = new Ramdisk(folder);
  const base = `${gatewayUrl.replace(/\/$/, '')}/boot/v1`;

  // iPXE gets its script at the plain address too, because a DHCP server may chain to it.
  scope.get<BootPath>('/:secret', async (request, reply) => {
    const found = await document(request);
    if (!(request.headers['user-agent'] ?? '').startsWith('iPXE/')) return found;
    return reply.type('text/plain').send(ipxeScript(base, request.params.secret));
  });
  scope.get<BootPath>('/:secret/boot.ipxe', async (request, reply) => {
    await document(request);
    return reply.type('text/plain').send(ipxeScript(base, request.params.secret));
  });
  scope.get<{ Querystring: { uuid?: string } }>('/ipxe', (request, reply) =>
    guarded(request, async () => {
      const { uuid = '' } = request.query;
      const { secret } = await ask('provisioning', bootFind, { data: { uuid } });
      return reply.type('text/plain').header('cache-control', 'no-store').send(ipxeScript(base, secret));
    }),
  );
  for (const { name, file, inside, follow, isLast } of bootFiles) {
    scope.route<BootPath>({
      method: ['GET', 'HEAD'],
      url: `/:secret/${name}`,
      handler: async (request, reply) => {
        const { secret } = request.params;
        const found = await document(request);
        // A simulated machine reads the document instead of a ramdisk.
        if (request.headers.accept === 'application/json') return found;
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
    });
  }

  scope.post<{ Params: { secret: string } }>('/:secret/exchange', (request, reply) =>
    guarded(request, () => {
      const { key } = parseField(exchangeSchema, request.body, 'The exchange');
      void reply.header('cache-control', 'no-store');
      return ask('provisioning', bootExchange, { data: { secret: request.params.secret, key } }).then((seed) =>
        request.headers.accept === shellType ? reply.type(`${shellType}; charset=utf-8`).send(bootScript(seed)) : seed,
      );
    }),
  );

  tokenRoutes(scope, { ask, images, guarded });
}

/** Routes for the token from the exchange. */
function tokenRoutes(
  scope: FastifyInstance,
  { ask, images, guarded }: Pick<BootOptions, 'ask' | 'images'> & { guarded: Guarded },
): void {
  // The content for a machine that writes its image now.
  scope.get('/image', async (request, reply) => {
    const { name } = await guarded(request, () =>
      ask('provisioning', bootImage, { data: { token: tokenIn(request) } }),
    );
    return sendContent(await images.read(name), { request, reply });
  });

  scope.post('/report', (request, reply) =>
    guarded(request, async () => {
      const report = parseField(reportSchema, request.body, 'The report');
      const answer = await ask('provisioning', bootReport, { data: { token: tokenIn(request), ...report } });
      return answer.settled === undefined ? reply.code(204).send() : answer;
    }),
  );
}
