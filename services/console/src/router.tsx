/** Every address of the console. Each page is a file of its own, which the browser loads when it is needed. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  useLocation,
  type ErrorComponentProps,
} from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useLive } from './live/live.tsx';
import { isOtherBuild } from './live/served-build.ts';
import { HomePage } from './pages/home.tsx';
import { ErrorCard } from './parts/error-card.tsx';
import { loadPage } from './parts/load-page.ts';
import { Shell } from './asking/shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: Missing });

function Missing() {
  return (
    <div className="stackwise">
      <h1>No such page</h1>
      <p>
        The console has no page at <code>{useLocation().pathname}</code>.
      </p>
      <p>
        <Link className="button" to="/">
          Go to the first page
        </Link>
      </p>
    </div>
  );
}

/** A page that failed, in the frame, with a way on: it was not loaded, or one of its parts threw. */
function Broken({ error, reset }: ErrorComponentProps) {
  const [isOld, setOld] = useState(false);
  useEffect(() => void isOtherBuild().then(setOld), [error]);
  if (isOld) {
    return (
      <div className="stackwise">
        <h1>A new version is here</h1>
        <p>The server has replaced the files of this page. Load the new version to go on.</p>
        <p>
          <button className="button first" type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </div>
    );
  }
  return (
    <div className="stackwise">
      <h1>The page could not be shown</h1>
      <ErrorCard error={error} again={reset}>
        <button className="button" type="button" onClick={() => location.reload()}>
          Load the console again
        </button>
      </ErrorCard>
    </div>
  );
}

/** A page whose file has not arrived yet. */
function Coming() {
  const { isOpen, brokenAt } = useLive();
  return (
    <p className="empty" role="status">
      {isOpen || brokenAt === undefined
        ? 'Loading …'
        : 'No server answers. The page opens by itself as soon as one does.'}
    </p>
  );
}
const under = () => root;

/** What a page shows: in the address, so that a link shows the same. */
interface Search {
  /** The filter of a list. */
  find?: string | undefined;
  tab?: string | undefined;
  /** The object that is shown in detail. */
  sel?: string | undefined;
}
const filtered = (search: Record<string, unknown>): Search => ({
  ...(typeof search['find'] === 'string' && search['find'] !== '' && { find: search['find'] }),
  ...(typeof search['tab'] === 'string' && { tab: search['tab'] }),
  ...(typeof search['sel'] === 'string' && { sel: search['sel'] }),
});

const home = createRoute({ getParentRoute: under, path: '/', component: HomePage });
const stacks = createRoute({
  getParentRoute: under,
  path: '/stacks',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/stacks.tsx')), 'StacksPage'),
});
const stack = createRoute({
  getParentRoute: under,
  path: '/stacks/$stack',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/stack.tsx')), 'StackPage'),
});
const create = createRoute({
  getParentRoute: under,
  path: '/create',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/create.tsx')), 'CreatePage'),
});
const takeOver = createRoute({
  getParentRoute: under,
  path: '/take-over',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/take-over.tsx')), 'TakeOverPage'),
});
const change = createRoute({
  getParentRoute: under,
  path: '/stacks/$stack/change',
  validateSearch: (search: Record<string, unknown>): { revision?: string | undefined } =>
    typeof search['revision'] === 'string' ? { revision: search['revision'] } : {},
  component: lazyRouteComponent(() => loadPage(() => import('./pages/change.tsx')), 'ChangePage'),
});
const groups = createRoute({
  getParentRoute: under,
  path: '/scaling',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/groups.tsx')), 'GroupsPage'),
});
const queues = createRoute({
  getParentRoute: under,
  path: '/queues',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/queues.tsx')), 'QueuesPage'),
});
const queue = createRoute({
  getParentRoute: under,
  path: '/queues/$queue',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/queue.tsx')), 'QueuePage'),
});
const deadLetters = createRoute({
  getParentRoute: under,
  path: '/dead-letters',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/dead-letters.tsx')), 'DeadLettersPage'),
});
const hosts = createRoute({
  getParentRoute: under,
  path: '/hosts',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/hosts.tsx')), 'HostsPage'),
});
const host = createRoute({
  getParentRoute: under,
  path: '/hosts/$host',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/host.tsx')), 'HostPage'),
});
const nodes = createRoute({
  getParentRoute: under,
  path: '/nodes',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/nodes.tsx')), 'NodesPage'),
});
const node = createRoute({
  getParentRoute: under,
  path: '/nodes/$node',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/node.tsx')), 'NodePage'),
});
const images = createRoute({
  getParentRoute: under,
  path: '/images',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/images.tsx')), 'ImagesPage'),
});
const image = createRoute({
  getParentRoute: under,
  path: '/images/$image',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/image.tsx')), 'ImagePage'),
});
const events = createRoute({
  getParentRoute: under,
  path: '/events',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/events.tsx')), 'EventsPage'),
});
const subscriptions = createRoute({
  getParentRoute: under,
  path: '/subscriptions',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/subscriptions.tsx')), 'SubscriptionsPage'),
});
const workflows = createRoute({
  getParentRoute: under,
  path: '/workflows',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/workflows.tsx')), 'WorkflowsPage'),
});
const projects = createRoute({
  getParentRoute: under,
  path: '/projects',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/projects.tsx')), 'ProjectsPage'),
});
const project = createRoute({
  getParentRoute: under,
  path: '/projects/$project',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/project.tsx')), 'ProjectPage'),
});
const users = createRoute({
  getParentRoute: under,
  path: '/users',
  validateSearch: filtered,
  component: lazyRouteComponent(() => loadPage(() => import('./pages/users.tsx')), 'UsersPage'),
});
const user = createRoute({
  getParentRoute: under,
  path: '/users/$user',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/user.tsx')), 'UserPage'),
});
const tokens = createRoute({
  getParentRoute: under,
  path: '/tokens',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/tokens.tsx')), 'TokensPage'),
});
const services = createRoute({
  getParentRoute: under,
  path: '/services',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/services.tsx')), 'ServicesPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    stacks,
    stack,
    create,
    takeOver,
    change,
    groups,
    queues,
    queue,
    deadLetters,
    hosts,
    host,
    nodes,
    node,
    images,
    image,
    events,
    subscriptions,
    workflows,
    services,
    projects,
    project,
    users,
    user,
    tokens,
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  defaultPendingComponent: Coming,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
