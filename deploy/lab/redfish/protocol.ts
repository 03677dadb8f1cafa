/** Rules of the Redfish protocol for every address: methods, versions, query parameters and headers. */
import type { FastifyInstance } from 'fastify';
import { bmcPath } from './endpoint.ts';
import { notFound, RedfishError } from './errors.ts';

/** Clients may ask for a part of these collections. */
const inParts = /\/LogServices\/[^/]+\/Entries$/;

/** The raw answer to an unknown method, sent on the socket because such a request reaches no route. */
export const unknownMethod =
  'HTTP/1.1 501 Not Implemented\r\nOData-Version: 4.0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** Call it before adding the first route. */
export function followProtocol(app: FastifyInstance): void {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set<string>();
    methods.set(url, known);
    for (const name of Array.isArray(method) ? method : [method]) known.add(name);
  });
  const allowed = (url: string): string | undefined => {
    const known = methods.get(url);
    return known && [...known].toSorted().join(', ');
  };

  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('odata-version', '4.0').header('cache-control', 'no-cache');
    const version = request.headers['odata-version'];
    if (version !== undefined && version !== '4.0') {
      done(new RedfishError('PreconditionFailed', `OData-Version ${String(version)} is not supported; 4.0 is.`));
      return;
    }
    const pages = inParts.test(request.routeOptions.url ?? '');
    const strange = Object.keys(request.query as object).filter(
      (name) => name.startsWith('$') && !(pages && (name === '$skip' || name === '$top')),
    );
    if (strange.length > 0) {
      const message = `The query parameters ${strange.join(', ')} are not supported.`;
      done(new RedfishError('QueryNotSupportedOnResource', message));
      return;
    }
    done();
  });
  app.addHook('preSerialization', async (_request, reply, payload: unknown) => {
    const type = (payload as Record<string, unknown> | null)?.['@odata.type'];
    const schema = typeof type === 'string' ? /^#(?:(.+)\.)?\w+$/.exec(type)?.[1] : undefined;
    if (schema !== undefined)
      void reply.header('link', `<http://redfish.dmtf.org/schemas/v1/${schema}.json>; rel=describedby`);
    return payload;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const allow = request.routeOptions.url === undefined ? undefined : allowed(request.routeOptions.url);
    if (allow !== undefined && (request.method === 'GET' || request.method === 'HEAD'))
      void reply.header('allow', allow);
    return payload;
  });
  app.setNotFoundHandler((request) => {
    const path = bmcPath(request);
    const parts = path.split('/');
    const route = [...methods.keys()].find((url) => {
      const names = url.split('/');
      return names.length === parts.length && names.every((name, at) => name.startsWith(':') || name === parts[at]);
    });
    if (route === undefined) throw notFound(path);
    throw new RedfishError(
      'OperationNotAllowed',
      `The method ${request.method} is not allowed on ${path}; ${allowed(route)} are.`,
      { headers: { allow: allowed(route) ?? '' } },
    );
  });
}
