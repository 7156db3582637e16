// What every command is given: streams, environment, global flags, and the way to the server.
import type { Command } from "commander";
import type { Api, Need } from "./client/client.ts";
import type { Terminal } from "./output/terminal.ts";

export interface Streams {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export interface GlobalFlags {
  readonly json?: boolean;
  readonly server?: string;
  readonly key?: string;
  readonly dataDir?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** False with `--no-color`. */
  readonly color?: boolean;
  readonly yes?: boolean;
}

export interface Cli extends Streams {
  /** Set for good once the command line is read. */
  flags: GlobalFlags;
  readonly term: Terminal;
  /** The running server, with the `cli` key or, for `admin`, the administrator's. */
  connect(need?: Need): Promise<Api>;
  /** For `completion`: the whole command tree. */
  tree(): Promise<Command>;
  exitCode: number;
  /** Set by a server: it keeps running when its output is no longer read. */
  keepsRunning: boolean;
}
