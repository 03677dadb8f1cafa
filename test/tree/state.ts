/** Size and state of an overcloud. A change of it is another state, so it is a pure function. */

export interface Size {
  readonly roles: number;
  /** Services in all; each role has those that `servicesOf` says. */
  readonly services: number;
  /** Members in the group of each service. */
  readonly containers: number;
  /** Machines of each role. */
  readonly nodes: number;
}

export interface TreeState extends Size {
  /** Marks passwords as hidden. */
  readonly hidden: boolean;
  /** The servers are machines with an agent, and the deployments run on them. Otherwise both are templates. */
  readonly machines: boolean;
  readonly domain: string;
  readonly password: string;
  /** A default of the environment that only services read. */
  readonly logLevel: string;
  /** Counts the changes of the file of each service. */
  readonly revisions: Readonly<Record<number, number>>;
  /** Services whose type leads to another file. */
  readonly others: readonly number[];
  /** Services that no role has any more. */
  readonly without: readonly number[];
  /** The service of which one resource fails. */
  readonly failing: number | undefined;
  readonly salt: string;
}

const beginning: Omit<TreeState, keyof Size> = {
  hidden: true,
  machines: false,
  domain: 'example.org',
  password: 'hush-first',
  logLevel: 'info',
  revisions: {},
  others: [],
  without: [],
  failing: undefined,
  salt: 'once',
};

export const stateOf = (size: Size, more: Partial<TreeState> = {}): TreeState => ({ ...beginning, ...size, ...more });

/** 112, 1,024 and 3,042 resources. */
export const small: Size = { roles: 2, services: 2, containers: 1, nodes: 1 };
export const large: Size = { roles: 4, services: 10, containers: 3, nodes: 3 };
export const huge: Size = { roles: 6, services: 17, containers: 4, nodes: 4 };

/** The services of a role, in order. All roles have service 0; each other one is missing in one of the roles. */
export function servicesOf({ roles, services, without }: TreeState, role: number): number[] {
  return Array.from({ length: services }, (_, index) => index).filter(
    (index) => (index === 0 || index % roles !== (role + 1) % roles) && !without.includes(index),
  );
}

/** Changes of a state, each followed by an update. */
export const changes: readonly {
  readonly name: string;
  readonly change: (state: TreeState) => TreeState;
}[] = [
  { name: 'a parameter', change: (state) => ({ ...state, domain: 'example.net' }) },
  { name: 'a default that only deep stacks read', change: (state) => ({ ...state, logLevel: 'debug' }) },
  { name: 'a hidden password', change: (state) => ({ ...state, password: 'hush-second' }) },
  {
    name: 'the file of a service',
    change: (state) => ({ ...state, revisions: { ...state.revisions, 1: (state.revisions[1] ?? 0) + 1 } }),
  },
  { name: 'the file that the registry names for a service', change: (state) => ({ ...state, others: [0] }) },
  { name: 'the number of machines', change: (state) => ({ ...state, nodes: state.nodes + 1 }) },
  { name: 'the list of services', change: (state) => ({ ...state, without: [1] }) },
  { name: 'what a random value depends on', change: (state) => ({ ...state, salt: 'twice' }) },
];
