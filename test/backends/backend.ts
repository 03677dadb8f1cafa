/** A real server for tests: from a URL in the environment, a program on the PATH, or what the project installs. */
export interface BackendServer {
  /** With credentials. */
  readonly url: string;
  /** Its data folder. Absent for one that is no program of this machine. */
  readonly data?: string;
  /** As a power cut. */
  kill(): Promise<void>;
  /** Starts again on the same data and port. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** False for one that the environment gave: it is not ours to kill. */
  readonly mayBeKilled: boolean;
}

/** What a test prints when it cannot have the server. */
export interface MissingBackend {
  readonly missing: string;
}

export type FindBackend = () => Promise<BackendServer | MissingBackend>;
