/** HEAD for an API whose clients may send it wherever they may send GET. */
import type { FastifyInstance, RouteOptions } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a HEAD that does what the GET of its address does; Node leaves out the body. */
    isHeadOfGet?: true;
  }
}

/**
 * Registers the routes of `build`, and HEAD for each GET among them that has none. The description of the API does not
 * list these.
 */
export function withHead(scope: FastifyInstance, build: () => void): void {
  const gets = new Map<string, Pick<RouteOptions, 'handler' | 'config'>>();
  const heads = new Set<string>();
  scope.addHook('onRoute', ({ method, url, handler, config }) => {
    const path = url.slice(scope.prefix.length);
    for (const each of [method].flat()) {
      if (each === 'HEAD') heads.add(path);
      if (each === 'GET') gets.set(path, { handler, ...(config && { config }) });
    }
  });
  build();
  for (const [url, { handler, config }] of gets) {
    if (!heads.has(url)) scope.route({ method: 'HEAD', url, handler, config: { ...config, isHeadOfGet: true } });
  }
}
