/** The questions about logins, tokens and own passwords. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  identityLogIn,
  identityPasswordChange,
  identityTokenIssue,
  identityTokenRevoke,
} from '@anneal/contracts/calls/identity.ts';
import { authSchema } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { TokenReader } from '@anneal/directory/tokens.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import { z } from 'zod';
import type { TokenWriter } from '../directory/tokens.ts';
import type { IdentityParts } from '../objects/parts.ts';
import { checkSecret, logIn } from './log-in.ts';

export interface LoginParts extends IdentityParts {
  readonly reader: TokenReader;
  readonly tokens: TokenWriter;
}

const auth = authSchema.shape.auth;
const passwords = z.object({ original_password: z.string(), password: z.string() });

/** Answers the questions about logins. */
export function loginAnswers(context: Pick<ServiceContext, 'bus' | 'mint'>, parts: LoginParts): MessageRoute[] {
  const { directory, reader, tokens, secrets, now } = parts;
  const attempts = new Attempts({
    now: () => now().getTime(),
    what: 'Logging in',
    free: 5,
    longestWaitMs: 60_000,
  });
  return [
    answer(context, identityLogIn, async ({ data: { token: id, until, from, auth: sealed } }) => {
      // A repeat of a question must not use a trust once more.
      if (await tokens.find(id)) return {};
      const login = await logIn({ directory, tokens: reader, attempts, now }, auth.parse(secrets.open(sealed)), from);
      const { access, scope, methods, parent } = login;
      await tokens.issue({
        id,
        until,
        userId: access.user.id,
        scope,
        methods,
        ...(parent && { parent }),
        ...(access.applicationCredential && { applicationCredentialId: access.applicationCredential.id }),
        ...(access.trust && { trustId: access.trust.id }),
      });
      return {};
    }),
    answer(context, identityTokenIssue, async ({ data: { token: id, until, user, project, methods } }) => {
      await tokens.issue({ id, until, userId: user, scope: { project_id: project }, methods });
      return {};
    }),
    answer(context, identityTokenRevoke, async ({ data: { token } }) => {
      await tokens.revoke(token);
      return {};
    }),
    answer(context, identityPasswordChange, async ({ data: { user, from, passwords: sealed } }) => {
      const given = passwords.parse(secrets.open(sealed));
      await changePassword({ ...parts, attempts }, { id: user, from, ...given });
      return {};
    }),
  ];
}

/** Changes the own password. All tokens of the user end. Failures are counted like failed logins. */
async function changePassword(
  { directory, attempts, now }: IdentityParts & { readonly attempts: Attempts },
  given: { id: string; from: string; original_password: string; password: string },
): Promise<void> {
  const { id } = given;
  const user = await directory.users.find(id);
  await checkSecret(
    { directory, attempts, place: { address: given.from, name: id } },
    user?.password,
    given.original_password,
  );
  if (user?.options['lock_password'] === true) {
    throw new AnnealError(
      'InvalidRequest',
      'You cannot change your password at this time due to password policy disallowing password changes. Please contact your administrator to reset your password.',
    );
  }
  const stored = await directory.passwords.hash(given.password);
  const tokens_from = now().toISOString();
  await directory.users.update(id, (present) => ({ ...present, password: stored, tokens_from }));
}
