// What an attack is: cases that must be held off, and one legal use of the same door that must work. `npm run attack`
// runs all of them against fresh servers, as root and as an ordinary user.

/** Who the server runs as. */
export type ServerUser = "root" | "ordinary";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // The shape is what each case looks at.
  readonly body: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export interface ApiOptions {
  /** Default: the administrator's key; null: none. */
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A server from the sources in a process of its own, with a fresh workspace and data directory. */
export interface Target {
  readonly user: ServerUser;
  readonly url: string;
  readonly pid: number;
  readonly workspace: string;
  readonly dataDir: string;
  readonly adminKey: string;
  /** Given with `--seed`: whoever draws at random draws from it. */
  readonly seed: number;
  /** What the server wrote to stdout and stderr, also before a restart. */
  said(): string;
  /** A request to the REST API, `path` below `/api/v1`. */
  api(method: string, path: string, options?: ApiOptions): Promise<Answer>;
  /** `POST /executions`, waits for the end. */
  call(tool: string, args: Record<string, unknown>, options?: ApiOptions): Promise<Answer>;
  /** Ends the server and starts it again on the same folders; `url` and `pid` are new. */
  restart(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** A program on the host, as the server's user: what a person would run. */
  asUser(argv: readonly string[], options?: { cwd?: string }): Promise<Ran>;
}

export interface TargetOptions {
  readonly user: ServerUser;
  /** Settings by key, e.g. `{ "execution.maxRunning": "2" }`. */
  readonly settings?: Record<string, string>;
  /**
   * Default: fresh folders, owned by the server's user. A relative path lies in the target's own fresh folder, so that
   * `{ workspace: "work", dataDir: "work/var/ostiary" }` puts one into the other.
   */
  readonly workspace?: string;
  readonly dataDir?: string;
  /** Fills the folders before the server starts. */
  prepare?(target: Pick<Target, "user" | "workspace" | "dataDir" | "asUser">): Promise<void>;
}

export interface Case {
  readonly name: string;
  /** Mostly waits for what the server does by itself: such cases run at the same time as those next to them. */
  readonly waits?: boolean;
  /** Answers null when it was held off (for a control: when it worked), else one sentence on what happened. */
  run(target: Target): Promise<string | null>;
}

export interface Attack extends Omit<TargetOptions, "user"> {
  /** For example `A1`. */
  readonly item: string;
  readonly title: string;
  /** Its cases measure time: no other attack runs meanwhile. */
  readonly alone?: true;
  /** Why it cannot be tried on this machine as this user; null when it can. */
  skip?(user: ServerUser): string | null;
  /** At least ten. */
  readonly cases: readonly Case[];
  /** Legal, through the same door: it must work, or "refuse everything" would pass. Runs first and last. */
  readonly control: Case;
}
