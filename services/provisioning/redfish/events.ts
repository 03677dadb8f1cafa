/** The events of a BMC: its stream, or else a subscription. */
import type { EventReader } from '../bmc/port.ts';
import { linkIn, type Answer, type RedfishHttp, type Sending } from './http.ts';
import { holdSubscription } from './subscription.ts';
import type { Access } from './transport.ts';

/**
 * Follows the events that a controller sends as a stream, or else subscribes `destination` to them. Resolves to false when
 * the controller does neither, to true when the stream or the subscription has ended.
 * @throws BmcError or Error when neither can be opened, or the stream breaks
 */
export async function followEvents(
  http: RedfishHttp,
  access: Access,
  { signal, destination, ...reader }: { signal: AbortSignal; destination: string } & EventReader,
): Promise<boolean> {
  const send = (sending: Pick<Sending, 'method' | 'path' | 'body'>, within = signal): Promise<Answer> =>
    http.send(access, { ...sending, signal: within, tries: 1 });
  const path = linkIn((await send({ method: 'GET', path: '/redfish/v1/' })).body, 'EventService');
  const service = path === undefined ? {} : (await send({ method: 'GET', path })).body;
  const { ServerSentEventUri: uri, ServiceEnabled: isEnabled } = service;
  if (isEnabled === false) return false;
  const url = typeof uri === 'string' && URL.canParse(uri, access.address) ? new URL(uri, access.address) : undefined;
  // The credentials go to no other computer.
  if (url?.origin !== new URL(access.address).origin) {
    return holdSubscription(send, { service, destination, signal, onOpen: reader.onOpen });
  }
  await http.listen(access, { url, signal, ...reader });
  return true;
}
