/** A real server for tests: from a URL in the environment, a program on the PATH, or an installation by the project. */
export interface BackendServer {
  /** URL with credentials. */
  readonly url: string;
  /** Data folder of the server. Absent for a server that is no program of this machine. */
  readonly data?: string;
  /** Kills the server without notice, like a power cut. */
  kill(): Promise<void>;
  /** Starts again on the same data and port. */
  start(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
  /** False for a server from the environment, which tests must not kill. */
  readonly mayBeKilled: boolean;
}

/** The reason that a test prints when there is no server. */
export interface MissingBackend {
  readonly missing: string;
}

export type FindBackend = () => Promise<BackendServer | MissingBackend>;
