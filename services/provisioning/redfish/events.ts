/** The events of a BMC: its stream, or else a subscription. */
import type { EventReader } from '../bmc/port.ts';
import type { Answer, RedfishHttp } from './conversation/http.ts';
import { Conversation } from './conversation/conversation.ts';
import { isOwn, linkIn } from './conversation/links.ts';
import { holdSubscription, type SubscriptionCall } from './subscription.ts';
import type { Access } from './conversation/transport.ts';

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
  const send = ({ method, path, body, form }: SubscriptionCall, within = signal): Promise<Answer> => {
    const conversation = new Conversation(http, { access, signal: within, tries: 1 });
    return method === 'GET'
      ? conversation.get(path)
      : conversation.carryOut({ method, path, body, ...(form && { form }) });
  };
  const path = linkIn((await send({ method: 'GET', path: '/redfish/v1/' })).body, 'EventService');
  const service = path === undefined ? {} : (await send({ method: 'GET', path })).body;
  const { ServerSentEventUri: uri, ServiceEnabled: isEnabled } = service;
  if (isEnabled === false) return false;
  // The credentials go to no other computer.
  if (typeof uri !== 'string' || !isOwn(access, uri)) {
    return holdSubscription(send, { service, destination, signal, onOpen: reader.onOpen });
  }
  await http.listen(access, { path: uri, signal, ...reader });
  return true;
}
