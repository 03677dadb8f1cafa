/**
 * The questions about logins by the OpenID provider:
 *
 * - a browser is sent to the provider, and comes back with a code and with what only it has kept;
 * - a device begins a login, and asks until its user has confirmed it;
 * - a program exchanges a token of the provider for one without a scope.
 */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  identityOidcBearer,
  identityOidcBegin,
  identityOidcDeviceBegin,
  identityOidcDeviceFinish,
  identityOidcFinish,
  identityOidcShow,
} from '@anneal/contracts/calls/identity.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { accessOfUser } from '@anneal/directory/access.ts';
import { keystoneId, type UserDocument } from '@anneal/directory/documents.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { projectsOf } from '@anneal/directory/projects.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { Attempts, networkOf, type AttemptPlace } from '@anneal/runtime/work/attempts.ts';
import { z } from 'zod';
import type { TokenWriter } from '../directory/tokens.ts';
import type { IdentityParts } from '../objects/parts.ts';
import { claimedUser, withGroups } from './claims.ts';
import type { OidcOptions } from './provider.ts';
import { userOfClaims } from './users.ts';

export interface OidcParts extends IdentityParts {
  readonly tokens: Pick<TokenWriter, 'issue'>;
  /** Undefined without an OpenID provider. */
  readonly oidc: OidcOptions | undefined;
}
type Parts = OidcParts & { readonly oidc: OidcOptions };
type Context = Pick<ServiceContext, 'bus' | 'mint'>;

const loginMs = 600_000;
/** A login that a browser has begun. Sealed, so that only this service can make one. */
const pendingSchema = z.object({
  purpose: z.literal('oidc login'),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  project: z.string().optional(),
  until: z.number(),
});
type PendingLogin = z.infer<typeof pendingSchema>;

/** Answers the questions about logins by the provider. Without one, refuses all but that for its name. */
export function oidcAnswers(context: Context, parts: OidcParts): MessageRoute[] {
  const attempts = new Attempts({
    now: () => parts.now().getTime(),
    what: 'Logging in by the OpenID provider',
    free: 10,
    longestWaitMs: 60_000,
  });
  const withProvider = (): Parts => {
    const { oidc } = parts;
    if (oidc) return { ...parts, oidc };
    throw new AnnealError('NotFound', 'This server has no OpenID provider.');
  };
  return [
    answer(context, identityOidcShow, async () => ({ provider: parts.oidc ? { name: parts.oidc.name } : null })),
    ...browserAnswers(context, withProvider),
    ...deviceAnswers(context, withProvider, attempts),
    bearerAnswer(context, withProvider, attempts),
  ];
}

const browserAnswers = (context: Context, withProvider: () => Parts): MessageRoute[] => [
  answer(context, identityOidcBegin, async ({ data: { callback, project } }) => {
    const { oidc, secrets, now } = withProvider();
    const { url, checks } = await oidc.provider.begin(callback);
    const until = now().getTime() + loginMs;
    const pending = { purpose: 'oidc login', ...checks, ...(project !== undefined && { project }), until };
    return { url: url.href, pending: secrets.seal(pending), until: new Date(until).toISOString() };
  }),
  answer(context, identityOidcFinish, async ({ data: { token: id, until, address, pending: kept } }) => {
    const parts = withProvider();
    const pending = pendingOf(parts, kept);
    if (!pending) return { expired: true };
    const back = new URL(openText(parts.secrets, address));
    const user = await userOf(parts, await parts.oidc.provider.finish(back, pending));
    await issue(parts, { id, until, user: user.id, project: await projectFor(parts, user, pending.project) });
    return { expired: false };
  }),
];

/** The login that the browser has begun. Undefined for one that has ended, and for anything that no key has sealed. */
function pendingOf({ secrets, now }: Parts, kept: JsonObject): PendingLogin | undefined {
  if (!secrets.isSealed(kept)) return undefined;
  const read = pendingSchema.safeParse(secrets.open(kept));
  return read.success && read.data.until > now().getTime() ? read.data : undefined;
}

function deviceAnswers(context: Context, withProvider: () => Parts, attempts: Attempts): MessageRoute[] {
  // Each start makes the provider keep a code, so an address has to wait that starts many and finishes none.
  const place = (from: string): AttemptPlace => ({ address: `${networkOf(from)} device` });
  return [
    answer(context, identityOidcDeviceBegin, async ({ data: { from } }) => {
      const { oidc, secrets } = withProvider();
      attempts.refused(place(from));
      const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } =
        await oidc.provider.beginDevice();
      const device = {
        device_code,
        user_code,
        verification_uri,
        ...(verification_uri_complete !== undefined && { verification_uri_complete }),
        expires_in,
        interval: interval ?? 5,
      };
      return { device: secrets.seal(device) };
    }),
    answer(context, identityOidcDeviceFinish, async ({ data: { token: id, until, from, code, project } }) => {
      const parts = withProvider();
      const claims = await parts.oidc.provider.finishDevice(openText(parts.secrets, code));
      if (!claims) return { pending: true };
      attempts.succeeded(place(from));
      const user = await userOf(parts, claims);
      await issue(parts, { id, until, user: user.id, project: await projectFor(parts, user, project) });
      return { pending: false };
    }),
  ];
}

const bearerAnswer = (context: Context, withProvider: () => Parts, attempts: Attempts): MessageRoute =>
  answer(context, identityOidcBearer, async ({ data: { token: id, until, from, provider, protocol, bearer } }) => {
    const parts = withProvider();
    const { oidc, directory, secrets } = parts;
    if (provider !== oidc.name) throw new AnnealError('NotFound', `Could not find Identity Provider: ${provider}.`);
    if (protocol !== 'openid') throw new AnnealError('NotFound', `Could not find federated protocol ${protocol}.`);
    if (!bearer) {
      throw new AnnealError(
        'Unauthorized',
        'The header Authorization: Bearer … with a token of the provider is missing.',
      );
    }
    const user = await unlessRepeated(attempts, { address: from, name: 'a token of the provider' }, async () =>
      bearerOf(parts, await oidc.provider.claimsOfBearer(openText(secrets, bearer))),
    );
    if (!(await accessOfUser(directory, user, { project_id: null }))) {
      throw new AnnealError('Unauthorized', `The user ${user.name} is disabled.`);
    }
    await issue(parts, { id, until, user: user.id, project: null });
    return {};
  });

/** Each wrong token may cost the provider a request, so an address that sends many has to wait. */
async function unlessRepeated<T>(attempts: Attempts, place: AttemptPlace, work: () => Promise<T>): Promise<T> {
  attempts.check(place);
  try {
    const done = await work();
    attempts.succeeded(place);
    return done;
  } catch (error) {
    if (hasCode(error, 'Unauthorized')) attempts.failed(place);
    throw error;
  }
}

/** The user of a token that another program has asked for, perhaps without the scope of groups. */
const bearerOf = ({ oidc, directory, newId }: Parts, claims: JsonObject): Promise<UserDocument> =>
  userOfClaims(
    {
      directory,
      name: oidc.name,
      issuer: oidc.provider.issuer,
      creates: oidc.creates,
      newId: () => keystoneId(newId),
    },
    claimedUser(claims, oidc.mapping),
  );

/** The user of a login that Anneal has asked for, with its scopes: without the claim, the user is in no group. */
const userOf = (parts: Parts, claims: JsonObject): Promise<UserDocument> =>
  bearerOf(parts, withGroups(claims, parts.oidc.mapping));

/**
 * The id of the project of a session: the wanted one, otherwise the user's default project, otherwise the first by name.
 * @throws AnnealError Forbidden when the user has no role there
 */
async function projectFor({ directory }: Parts, user: UserDocument, wanted: string | undefined): Promise<string> {
  const own = await projectsOf(directory, user);
  const named = own.find(
    ({ id, name, domain_id }) => id === wanted || (name === wanted && domain_id === defaultDomain.id),
  );
  const [first] = own.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const chosen = wanted === undefined ? (own.find(({ id }) => id === user.default_project_id) ?? first) : named;
  if (chosen && (await accessOfUser(directory, user, { project_id: chosen.id }))) return chosen.id;
  throw new AnnealError(
    'Forbidden',
    `The user ${user.name} has no role in ${wanted === undefined ? 'any project' : `the project ${wanted}`}, or it does not exist or is disabled.`,
    { details: { remedy: `An operator grants one: openstack role add --user ${user.id} --project PROJECT member` } },
  );
}

const issue = (
  { tokens }: Parts,
  { id, until, user, project }: { id: string; until: string; user: string; project: string | null },
): Promise<void> => tokens.issue({ id, until, userId: user, scope: { project_id: project }, methods: ['openid'] });
