/**
 * Microversions of Ironic's API. Pure.
 *
 * M1 A version outside the range is refused with 406 and the range, from which clients choose another.
 * M2 An address that is younger than the version of the request does not exist for it, as in Ironic.
 * M3 A request without a version gets the oldest, as in Ironic.
 */
export const microversions = { least: '1.1', most: '1.96' } as const;

const minorOf = (version: string): number => Number(version.split('.')[1]);

interface Address {
  readonly route: RegExp;
  readonly since: string;
  /** The status of the refusal by method, where Ironic does not answer 404. */
  readonly status?: Readonly<Record<string, RefusedStatus>>;
}
type RefusedStatus = 404 | 405 | 406;

const changes = { POST: 405, PATCH: 405, DELETE: 405 } as const;

/** The least version of each address that came after 1.1, by the pattern of its route. */
const addresses: readonly Address[] = [
  { route: /^\/v1\/inspection_rules(?:\/|$)/, since: '1.96', status: changes },
  { route: /^\/v1\/runbooks(?:\/|$)/, since: '1.92', status: changes },
  { route: /^\/v1\/nodes\/[^/]+\/vmedia$/, since: '1.89' },
  { route: /^\/v1\/nodes\/[^/]+\/firmware$/, since: '1.86' },
  { route: /^\/v1\/nodes\/[^/]+\/children$/, since: '1.83' },
  { route: /^\/v1\/shards$/, since: '1.82' },
  { route: /^\/v1\/nodes\/[^/]+\/inventory$/, since: '1.81' },
  { route: /^\/v1\/nodes\/[^/]+\/history(?:\/|$)/, since: '1.78' },
  { route: /^\/v1\/nodes\/[^/]+\/states\/(?:boot_mode|secure_boot)$/, since: '1.76' },
  { route: /^\/v1\/deploy_templates(?:\/|$)/, since: '1.55', status: changes },
  { route: /^\/v1\/allocations(?:\/|$)/, since: '1.52', status: changes },
  { route: /^\/v1\/nodes\/[^/]+\/allocation$/, since: '1.52' },
  { route: /^\/v1\/conductors(?:\/|$)/, since: '1.49' },
  { route: /^\/v1\/nodes\/[^/]+\/bios(?:\/|$)/, since: '1.40' },
  { route: /^\/v1\/nodes\/[^/]+\/traits(?:\/|$)/, since: '1.37', status: { GET: 406, PUT: 405 } },
  { route: /^\/v1\/volume(?:\/|$)/, since: '1.32' },
  { route: /^\/v1\/nodes\/[^/]+\/volume(?:\/|$)/, since: '1.32' },
  { route: /^\/v1\/nodes\/[^/]+\/management\/inject_nmi$/, since: '1.29' },
  { route: /^\/v1\/nodes\/[^/]+\/vifs(?:\/|$)/, since: '1.28' },
  { route: /^\/v1\/nodes\/[^/]+\/portgroups(?:\/|$)/, since: '1.24' },
  { route: /^\/v1\/portgroups\/[^/]+\/ports(?:\/|$)/, since: '1.24' },
  { route: /^\/v1\/portgroups(?:\/|$)/, since: '1.23' },
  { route: /^\/v1\/(?:heartbeat|lookup)(?:\/|$)/, since: '1.22' },
  { route: /^\/v1\/nodes\/[^/]+\/states\/raid$/, since: '1.12', status: { PUT: 406 } },
  { route: /^\/v1\/drivers\/[^/]+\/raid\//, since: '1.12', status: { GET: 406 } },
];

interface VersionHeaders {
  readonly [name: string]: string | string[] | undefined;
  readonly 'x-openstack-ironic-api-version'?: string | string[] | undefined;
  readonly 'openstack-api-version'?: string | string[] | undefined;
}

/** The version that a request asks for, or why it is refused. */
export type Microversion =
  | { readonly version: string }
  | { readonly refused: { readonly status: RefusedStatus; readonly message: string } };

/** @param path the address below the prefix of the API, without the query. */
export function microversionOf(
  headers: VersionHeaders,
  { method, path }: { method: string; path: string },
): Microversion {
  const { least, most } = microversions;
  const asked = askedIn(headers) ?? least;
  const version = asked === 'latest' ? most : asked;
  const isKnown =
    /^1\.\d{1,4}$/.test(version) && minorOf(version) >= minorOf(least) && minorOf(version) <= minorOf(most);
  if (!isKnown) {
    const message = `Version ${asked.slice(0, 40)} was requested but is not supported by this service. The supported version range is: [${least}, ${most}].`;
    return { refused: { status: 406, message } };
  }
  const address = addresses.find(({ route }) => route.test(path));
  if (address === undefined || minorOf(version) >= minorOf(address.since)) return { version };
  const message = `The address ${path} exists since version ${address.since}, but the request asks for version ${version} (X-OpenStack-Ironic-API-Version).`;
  return { refused: { status: address.status?.[method] ?? 404, message } };
}

/** The path of a request below the prefix of the API. */
export const ironicPath = ({ url }: { readonly url: string }): string =>
  (url.split('?')[0] ?? '').replace(/^\/baremetal/, '');

/** The minor version that a request asks for. The least for one that is refused. */
export function minorAsked(request: {
  readonly headers: VersionHeaders;
  readonly method: string;
  readonly url: string;
}): number {
  const found = microversionOf(request.headers, { method: request.method, path: ironicPath(request) });
  return minorOf('version' in found ? found.version : microversions.least);
}

/** The older header wins when both are given, because it belongs to this service alone. */
function askedIn(headers: VersionHeaders): string | undefined {
  const own = headers['x-openstack-ironic-api-version'];
  if (typeof own === 'string' && own !== '') return own.trim();
  const common = headers['openstack-api-version'];
  const parts = typeof common === 'string' ? common.split(',').map((part) => part.trim().split(/\s+/)) : [];
  return parts.find(([service]) => service === 'baremetal')?.[1];
}
