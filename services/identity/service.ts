/** The identity service: decides logins, and is the only writer of the directory and of tokens. */
import { routeMessages } from '@anneal/bus/consume/route.ts';
import { stackList } from '@anneal/contracts/calls/stacks.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { openTokenReader } from '@anneal/directory/tokens.ts';
import { defineService, type ServiceContext } from '@anneal/runtime/service/service.ts';
import { openDirectory } from './directory/directory.ts';
import { openTokenWriter } from './directory/tokens.ts';
import { loginAnswers } from './login/answers.ts';
import { objectAnswers } from './objects/objects.ts';
import { oidcAnswers } from './oidc/answers.ts';
import { oidcOf } from './oidc-options.ts';
import { openIdentityResources } from './resources/provider.ts';
import { identitySettings } from './settings.ts';

/**
 * Clients compare the expiry of a token with their own clocks, so it follows the system clock even when that is set.
 */
const now = (): Date => new Date();

/**
 * More than the passwords that may wait to be hashed (`directory/passwords.ts`), so that a login with a remembered
 * password never waits behind clients that guess.
 */
const concurrency = 256;
const answerMs = 30_000;

export const identityService = defineService({
  name: 'identity',
  settings: identitySettings,
  async start(context, settings) {
    const { bus, store, secrets, newId, region } = context;
    const directory = await openDirectory({ store, password: settings.adminPassword, now });
    const parts = { directory, secrets, newId, now, stacksIn: stacksIn(context), region };
    const reader = await openTokenReader({ store, secrets, directory, now });
    const tokens = await openTokenWriter({ store, revision: directory.revision, now });
    const oidc = oidcOf(settings, () => performance.now());
    const resources = await openIdentityResources(context, parts);
    const requests = await bus.consume(
      requestsQueue('identity'),
      routeMessages([
        ...loginAnswers(context, { ...parts, reader, tokens }),
        ...oidcAnswers(context, { ...parts, tokens, oidc }),
        ...objectAnswers(context, parts),
        ...resources.routes,
      ]),
      { concurrency },
    );
    await resources.announce();
    return {
      async stop() {
        await requests.stop();
        await resources.stop();
      },
    };
  },
});

/** 0 or 1: whether a project has stacks. */
const stacksIn =
  ({ bus, mint }: Pick<ServiceContext, 'bus' | 'mint'>) =>
  async (project: string): Promise<number> => {
    const { stacks } = await bus.request({
      queue: requestsQueue('scheduling'),
      call: stackList,
      message: mint(stackList, { project, data: { project, limit: 1 } }),
      timeoutMs: answerMs,
    });
    return stacks.length;
  };
