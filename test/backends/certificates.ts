/** Certificates for tests of TLS, created with `openssl`: an authority, a server at 127.0.0.1, and a client. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './program.ts';

/** Files in PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  readonly ca: string;
  /** Another authority, which signed none of the other certificates. */
  readonly strangeCa: string;
  readonly server: Pair;
  readonly client: Pair;
  remove(): Promise<void>;
}

const run = promisify(execFile);

/** @param client the common name of the client. Undefined when `openssl` is not installed. */
export async function makeCertificates({ client }: { client: string }): Promise<Certificates | undefined> {
  if ((await findProgram('openssl')) === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'anneal-certificates-'));
  const pairOf = (name: string): Pair => ({ cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

  const authority = async (name: string): Promise<Pair> => {
    const pair = pairOf(name);
    await run('openssl', ['req', '-x509', ...fresh, '-subj', `/CN=${name}`, '-keyout', pair.key, '-out', pair.cert]);
    return pair;
  };
  const signed = async (by: Pair, name: string, extensions: string): Promise<Pair> => {
    const pair = pairOf(name);
    const [request, extra] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
    await writeFile(extra, extensions);
    await run('openssl', ['req', ...fresh, '-subj', `/CN=${name}`, '-keyout', pair.key, '-out', request]);
    const signer = ['-CA', by.cert, '-CAkey', by.key, '-CAcreateserial', '-days', '2', '-extfile', extra];
    await run('openssl', ['x509', '-req', '-in', request, ...signer, '-out', pair.cert]);
    return pair;
  };

  const [ours, strange] = await Promise.all([authority('authority'), authority('stranger')]);
  return {
    ca: ours.cert,
    strangeCa: strange.cert,
    server: await signed(ours, 'localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth'),
    client: await signed(ours, client, 'extendedKeyUsage=clientAuth'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
