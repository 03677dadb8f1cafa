/**
 * The settings of os-collect-config on a host: the attribute `os_collect_config` of its server, and the part of its
 * metadata from which os-apply-config writes `/etc/os-collect-config.conf`. Pure.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { collectTransportOf, type CollectedHost } from '../deployments/decisions/signal-inputs.ts';
import { ec2SecretOf, metadataObject, signTempUrl } from '@anneal/runtime/secrets/host-keys.ts';

/** The last second of a signed 32-bit clock, as in Heat: the address works while the host has its token. */
const never = 2_147_483_647;

/** `hide` seals each secret in the settings, for an attribute. The metadata of the host itself has them open. */
export function collectSettings(
  host: CollectedHost,
  where: { gatewayUrl: string; region: string; hide?: (secret: string) => Json },
): JsonObject {
  const { gatewayUrl, region, hide = (secret): Json => secret } = where;
  const { id, project, token, collector } = host;
  const { stack_id = '', stack_name = '', resource_name = '' } = collector ?? {};
  const login = {
    auth_url: `${gatewayUrl}/identity/v3`,
    user_id: id,
    password: hide(token),
    project_id: project,
    region_name: region,
  };
  switch (collectTransportOf(host)) {
    case 'POLL_SERVER_CFN':
      return {
        collectors: ['cfn', 'local'],
        cfn: {
          metadata_url: `${gatewayUrl}/cfn/v1/`,
          access_key_id: id,
          secret_access_key: hide(ec2SecretOf(token)),
          stack_name,
          path: `${resource_name}.Metadata`,
        },
      };
    case 'POLL_SERVER_HEAT':
      return {
        collectors: ['heat', 'local'],
        heat: { ...login, stack_id: `${stack_name}/${stack_id}`, resource_name },
      };
    case 'POLL_TEMP_URL': {
      const url = { method: 'GET', project, hostId: id, object: metadataObject, expires: never } as const;
      return { collectors: ['request', 'local'], request: { metadata_url: hide(signTempUrl(gatewayUrl, token, url)) } };
    }
    case 'ZAQAR_MESSAGE':
      // Zaqar's own client refuses names with a dot, so use the host's id, which also names its queue.
      return { collectors: ['zaqar', 'local'], zaqar: { ...login, queue_id: id } };
  }
}
