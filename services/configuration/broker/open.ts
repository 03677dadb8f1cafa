/** Opens the broker for hosts, when the operator has set one. */
import type { HostDoor } from '@anneal/bus/hosts/door.ts';
import { openHostDoor } from '@anneal/bus/hosts/open.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import type { HostContext } from '../hosts/host.ts';
import type { configurationSettings } from '../settings.ts';
import type { HostBridge } from './bridge.ts';
import { isGranted } from '../hosts/grant.ts';

/** @throws AnnealError InvalidRequest that names every wrong or missing setting */
export async function openBrokerOfHosts(
  context: HostContext,
  { settings, bridge }: { settings: SettingsOf<typeof configurationSettings>; bridge: HostBridge },
): Promise<HostDoor | undefined> {
  const { hostBrokerUrl: url, hostBrokerAdminUrl: adminUrl, hostBrokerKey: key, hostBrokerAddress: address } = settings;
  if (url === undefined) return undefined;
  return openHostDoor({
    url,
    adminUrl,
    key,
    address,
    name: 'anneal/configuration',
    log: context.service.log,
    take: (host, bytes) => bridge.take(host, bytes),
    isGranted: (host, password) => isGranted(context, host, password),
  });
}
