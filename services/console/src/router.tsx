/** Every address of the console. Each page is a file of its own, which the browser loads when it is needed. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  useLocation,
} from '@tanstack/react-router';
import { HomePage } from './pages/home.tsx';
import { Empty } from './parts/command.tsx';
import { Shell } from './parts/shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: Missing });

function Missing() {
  return (
    <Empty>
      There is no page at {useLocation().pathname}. Go to <Link to="/">the start page</Link>.
    </Empty>
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
  component: lazyRouteComponent(() => import('./pages/stacks.tsx'), 'StacksPage'),
});
const stack = createRoute({
  getParentRoute: under,
  path: '/stacks/$stack',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/stack.tsx'), 'StackPage'),
});
const create = createRoute({
  getParentRoute: under,
  path: '/create',
  component: lazyRouteComponent(() => import('./pages/create.tsx'), 'CreatePage'),
});
const change = createRoute({
  getParentRoute: under,
  path: '/stacks/$stack/change',
  validateSearch: (search: Record<string, unknown>): { revision?: string | undefined } =>
    typeof search['revision'] === 'string' ? { revision: search['revision'] } : {},
  component: lazyRouteComponent(() => import('./pages/change.tsx'), 'ChangePage'),
});
const groups = createRoute({
  getParentRoute: under,
  path: '/scaling',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/groups.tsx'), 'GroupsPage'),
});
const queues = createRoute({
  getParentRoute: under,
  path: '/queues',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/queues.tsx'), 'QueuesPage'),
});
const queue = createRoute({
  getParentRoute: under,
  path: '/queues/$queue',
  component: lazyRouteComponent(() => import('./pages/queue.tsx'), 'QueuePage'),
});
const deadLetters = createRoute({
  getParentRoute: under,
  path: '/dead-letters',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/dead-letters.tsx'), 'DeadLettersPage'),
});
const hosts = createRoute({
  getParentRoute: under,
  path: '/hosts',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/hosts.tsx'), 'HostsPage'),
});
const host = createRoute({
  getParentRoute: under,
  path: '/hosts/$host',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/host.tsx'), 'HostPage'),
});
const nodes = createRoute({
  getParentRoute: under,
  path: '/nodes',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/nodes.tsx'), 'NodesPage'),
});
const node = createRoute({
  getParentRoute: under,
  path: '/nodes/$node',
  component: lazyRouteComponent(() => import('./pages/node.tsx'), 'NodePage'),
});
const images = createRoute({
  getParentRoute: under,
  path: '/images',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/images.tsx'), 'ImagesPage'),
});
const image = createRoute({
  getParentRoute: under,
  path: '/images/$image',
  component: lazyRouteComponent(() => import('./pages/image.tsx'), 'ImagePage'),
});
const events = createRoute({
  getParentRoute: under,
  path: '/events',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/events.tsx'), 'EventsPage'),
});
const subscriptions = createRoute({
  getParentRoute: under,
  path: '/subscriptions',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/subscriptions.tsx'), 'SubscriptionsPage'),
});
const workflows = createRoute({
  getParentRoute: under,
  path: '/workflows',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/workflows.tsx'), 'WorkflowsPage'),
});
const projects = createRoute({
  getParentRoute: under,
  path: '/projects',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/projects.tsx'), 'ProjectsPage'),
});
const project = createRoute({
  getParentRoute: under,
  path: '/projects/$project',
  component: lazyRouteComponent(() => import('./pages/project.tsx'), 'ProjectPage'),
});
const users = createRoute({
  getParentRoute: under,
  path: '/users',
  validateSearch: filtered,
  component: lazyRouteComponent(() => import('./pages/users.tsx'), 'UsersPage'),
});
const user = createRoute({
  getParentRoute: under,
  path: '/users/$user',
  component: lazyRouteComponent(() => import('./pages/user.tsx'), 'UserPage'),
});
const tokens = createRoute({
  getParentRoute: under,
  path: '/tokens',
  component: lazyRouteComponent(() => import('./pages/tokens.tsx'), 'TokensPage'),
});
const services = createRoute({
  getParentRoute: under,
  path: '/services',
  component: lazyRouteComponent(() => import('./pages/services.tsx'), 'ServicesPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    stacks,
    stack,
    create,
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
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
