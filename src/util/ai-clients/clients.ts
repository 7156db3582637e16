// AI clients that can be configured for a server: where each keeps its configuration, and what an entry looks like
// there.
import { posix, win32 } from "node:path";

export type Scope = "user" | "project";

/** Where paths come from; a parameter, since each platform has its own. */
export interface ClientMachine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** What an entry may need to say. */
export interface Address {
  readonly url: string;
  /** The value of the Authorization header: with the key, or with a variable that holds it. */
  readonly authorization: string;
  /** A program and its arguments that speak MCP on stdin and stdout; the key is read from a file or a variable. */
  readonly command: readonly string[];
  /** Variables of that program. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A link that adds the entry: `template` with the configuration in place of `{config}`. */
export interface Deeplink {
  readonly template: string;
  /** base64: of its bytes; uri: percent-encoded. */
  readonly encoding: "base64" | "uri";
  config(entry: Record<string, unknown>): Record<string, unknown>;
}

export interface Client {
  readonly id: string;
  readonly title: string;
  readonly format: "json" | "toml";
  /** Where the entry stands in the file. */
  readonly at: readonly string[];
  /** It is there when the client is. */
  folder(machine: ClientMachine): string;
  /** Null where the client has no such scope. */
  file(machine: ClientMachine, scope: Scope): string | null;
  /** How a header refers to a variable; null where it cannot. */
  readonly variable: ((name: string) => string) | null;
  /** The key itself is not in the entry. */
  readonly keyInFile: boolean;
  /** It reads its configuration only when it starts. */
  readonly restarts: boolean;
  readonly deeplink: Deeplink | null;
  /** A command of its own that adds the entry. */
  readonly command: ((address: Address) => readonly string[]) | null;
  entry(address: Address): Record<string, unknown>;
}

/** Of the entry, in every client. */
const NAME = "ostiary";

const pathsOf = ({ platform }: ClientMachine): typeof posix =>
  platform === "win32" ? win32 : posix;

/** Where programs with windows keep their settings. */
function settings(machine: ClientMachine, ...parts: readonly string[]): string {
  const { platform, home, env } = machine;
  const { join } = pathsOf(machine);
  if (platform === "win32")
    return join(env["APPDATA"] || join(home, "AppData", "Roaming"), ...parts);
  if (platform === "darwin") return join(home, "Library", "Application Support", ...parts);
  return join(env["XDG_CONFIG_HOME"] || join(home, ".config"), ...parts);
}

const atHome = (machine: ClientMachine, ...parts: readonly string[]): string =>
  pathsOf(machine).join(machine.home, ...parts);
const inProject = (machine: ClientMachine, ...parts: readonly string[]): string =>
  pathsOf(machine).join(machine.cwd, ...parts);

const http = ({ url, authorization }: Address): Record<string, unknown> => ({
  type: "http",
  url,
  headers: { Authorization: authorization },
});

export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    format: "json",
    at: ["mcpServers", NAME],
    folder: (machine) => atHome(machine, ".claude"),
    file: (machine, scope) =>
      scope === "user" ? atHome(machine, ".claude.json") : inProject(machine, ".mcp.json"),
    variable: (name) => `\${${name}}`,
    keyInFile: false,
    restarts: true,
    deeplink: null,
    command: ({ url, authorization }) => [
      "claude",
      ...["mcp", "add", "--scope", "user", "--transport", "http", NAME, url],
      ...["--header", `Authorization: ${authorization}`],
    ],
    entry: http,
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    at: ["mcpServers", NAME],
    folder: (machine) => settings(machine, "Claude"),
    file: (machine, scope) =>
      scope === "user" ? settings(machine, "Claude", "claude_desktop_config.json") : null,
    variable: null,
    // Its file takes programs only.
    keyInFile: true,
    restarts: true,
    deeplink: null,
    command: null,
    entry: ({ command: [command, ...args], env }) => ({ command, args, ...(env ? { env } : {}) }),
  },
  {
    id: "cursor",
    title: "Cursor",
    format: "json",
    at: ["mcpServers", NAME],
    folder: (machine) => atHome(machine, ".cursor"),
    file: (machine, scope) =>
      scope === "user"
        ? atHome(machine, ".cursor", "mcp.json")
        : inProject(machine, ".cursor", "mcp.json"),
    variable: (name) => `\${env:${name}}`,
    keyInFile: false,
    restarts: false,
    deeplink: {
      template: `cursor://anysphere.cursor-deeplink/mcp/install?name=${NAME}&config={config}`,
      encoding: "base64",
      config: (entry) => entry,
    },
    command: null,
    entry: ({ url, authorization }) => ({ url, headers: { Authorization: authorization } }),
  },
  {
    id: "vscode",
    title: "VS Code",
    format: "json",
    at: ["servers", NAME],
    folder: (machine) => settings(machine, "Code"),
    file: (machine, scope) =>
      scope === "user"
        ? settings(machine, "Code", "User", "mcp.json")
        : inProject(machine, ".vscode", "mcp.json"),
    variable: (name) => `\${env:${name}}`,
    keyInFile: false,
    restarts: false,
    deeplink: {
      template: "vscode:mcp/install?{config}",
      encoding: "uri",
      config: (entry) => ({ name: NAME, ...entry }),
    },
    command: (address) => ["code", "--add-mcp", JSON.stringify({ name: NAME, ...http(address) })],
    entry: http,
  },
  {
    id: "windsurf",
    title: "Windsurf",
    format: "json",
    at: ["mcpServers", NAME],
    folder: (machine) => atHome(machine, ".codeium", "windsurf"),
    file: (machine, scope) =>
      scope === "user" ? atHome(machine, ".codeium", "windsurf", "mcp_config.json") : null,
    variable: (name) => `\${env:${name}}`,
    keyInFile: false,
    restarts: true,
    deeplink: null,
    command: null,
    entry: ({ url, authorization }) => ({
      serverUrl: url,
      headers: { Authorization: authorization },
    }),
  },
  {
    id: "codex",
    title: "Codex",
    format: "toml",
    at: ["mcp_servers", NAME],
    folder: (machine) => codexHome(machine),
    file: (machine, scope) =>
      scope === "user" ? pathsOf(machine).join(codexHome(machine), "config.toml") : null,
    variable: null,
    keyInFile: false,
    restarts: true,
    deeplink: null,
    command: null,
    entry: ({ url, authorization }) => ({ url, http_headers: { Authorization: authorization } }),
  },
];

const codexHome = (machine: ClientMachine): string =>
  machine.env["CODEX_HOME"] || atHome(machine, ".codex");
