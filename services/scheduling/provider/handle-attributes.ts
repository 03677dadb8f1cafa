/** The attributes of a wait condition handle: how to signal it. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { grantOf, signalEndpoint, signalToken, signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';

/** The URL, the token and the endpoint that send a signal to a handle, as its signal transport wants them; sealed. */
export function handleAttributes(
  { gatewayUrl, region, secrets }: Pick<ServiceContext, 'gatewayUrl' | 'region' | 'secrets'>,
  message: Envelope<ResourceRequest>,
): JsonObject {
  const { data } = message;
  const grant = grantOf(message);
  const sealed = (values: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, value === null ? null : secrets.seal(value)]),
    );
  const url = (as: 'signal' | 'waitcondition'): string => signedSignalUrl(gatewayUrl, { secrets, grant, as });
  if (data.resource.type !== 'OS::Heat::WaitConditionHandle') return sealed({ url: url('waitcondition') });
  const token = signalToken(secrets, grant);
  const endpoint = signalEndpoint(gatewayUrl, grant);
  const credentials = {
    auth_url: `${gatewayUrl}/identity/v3`,
    username: data.resource.id,
    user_id: data.resource.id,
    password: token,
    project_id: grant.project,
    region_name: region,
  };
  const none = { token: null, endpoint: null, curl_cli: null, signal: null };
  switch (openProperty(secrets, data.properties, 'signal_transport') ?? 'TOKEN_SIGNAL') {
    case 'TOKEN_SIGNAL': {
      const headers = [`X-Auth-Token: ${token}`, 'Content-Type: application/json', 'Accept: application/json'];
      const curl = `curl -i -X POST ${headers.map((header) => `-H '${header}'`).join(' ')} ${endpoint}`;
      return sealed({ token, endpoint, curl_cli: curl, signal: JSON.stringify({ token, endpoint }) });
    }
    case 'CFN_SIGNAL':
      return sealed({ ...none, endpoint: url('signal'), signal: JSON.stringify({ alarm_url: url('signal') }) });
    // A URL of the gateway that needs no login replaces the temporary URL of an object store.
    case 'TEMP_URL_SIGNAL':
      return sealed({
        ...none,
        endpoint: url('waitcondition'),
        signal: JSON.stringify({ object_url: url('waitcondition') }),
      });
    case 'HEAT_SIGNAL':
      return sealed({ ...none, endpoint, signal: JSON.stringify(credentials) });
    case 'ZAQAR_SIGNAL':
      return sealed({ ...none, signal: JSON.stringify({ ...credentials, queue_id: data.resource.id }) });
    default:
      return none;
  }
}
