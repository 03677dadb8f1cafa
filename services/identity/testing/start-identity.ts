/** For tests: the identity service beside the services of a test, on the same bus and store. */
import { readSettings } from '@anneal/runtime/service/settings.ts';
import type { RunningService, ServiceContext } from '@anneal/runtime/service/service.ts';
import { identityService } from '../service.ts';

/** Starts it with this password of admin, and with these settings. */
export const startIdentity = (
  context: ServiceContext,
  password: string,
  more: Record<string, string> = {},
): Promise<RunningService> =>
  identityService.start(
    context,
    readSettings(identityService.settings, { ANNEAL_GATEWAY_ADMIN_PASSWORD: password, ...more }),
  );
