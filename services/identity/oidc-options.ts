/** The OpenID provider as the settings name it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { identitySettings } from './settings.ts';
import { OidcProvider, type OidcOptions } from './oidc/provider.ts';

/** Undefined without a provider. @throws AnnealError InvalidRequest for an issuer without a client id */
export function oidcOf(settings: SettingsOf<typeof identitySettings>, elapsed: () => number): OidcOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId } = settings;
  if (issuer === undefined) return undefined;
  if (clientId === undefined) {
    throw new AnnealError(
      'InvalidRequest',
      `${identitySettings.oidcIssuer.env} needs ${identitySettings.oidcClientId.env}: the id under which the provider knows Anneal.`,
    );
  }
  const provider = new OidcProvider(
    {
      issuer: new URL(issuer),
      clientId,
      clientSecret: settings.oidcClientSecret,
      audience: settings.oidcAudience,
      scopes: settings.oidcScopes,
    },
    elapsed,
  );
  return {
    provider,
    name: settings.oidcName,
    mapping: { nameClaim: settings.oidcNameClaim, groupsClaim: settings.oidcGroupsClaim, roles: settings.oidcRoles },
    creates: settings.oidcUsers === 'create',
  };
}
