// What each AI client needs to reach this server: the same entries that `ostiary connect` writes.
import { z } from "zod";
import { CLIENTS, type Address, type Client } from "../../util/ai-clients/clients.ts";
import { shellLine, snippetOf } from "../../util/ai-clients/snippet.ts";
import { endpoint } from "./endpoint.ts";

/** Stands where the key goes. It needs no quoting in any of the formats. */
const PLACEHOLDER = "ost_YOUR_KEY";
const KEY_VARIABLE = "OSTIARY_KEY";

const files = z.object({
  linux: z.string(),
  macos: z.string(),
  windows: z.string(),
  project: z.string().nullable().describe("In the folder of a project; null: it has none"),
});

const client = z.object({
  id: z.string(),
  title: z.string(),
  format: z.enum(["json", "toml"]),
  snippet: z.string().describe("For its configuration file, with the placeholder for the key"),
  files,
  transport: z
    .enum(["http", "stdio"])
    .describe("stdio: it starts `ostiary mcp`, which must be installed"),
  command: z
    .string()
    .nullable()
    .describe("A command of the client itself that adds the entry (POSIX shell)"),
  deeplink: z
    .object({
      template: z.string().describe("Put the encoded configuration in place of {config}"),
      encoding: z.enum(["base64", "uri"]),
      config: z.string().describe("JSON with the placeholder: fill the key in, then encode it"),
    })
    .nullable(),
  restarts: z.boolean().describe("It reads its configuration only when it starts"),
});

export const getConnections = endpoint({
  name: "account.getConnections",
  method: "GET",
  path: "/connect",
  access: "caller",
  summary:
    "How each AI client is configured for this server: entries, commands and links, without a key",
  input: z.strictObject({}),
  output: z.object({
    url: z.string().describe("The MCP address of this server"),
    placeholder: z.string().describe("Stands for the key: create one and put its secret there"),
    clients: z.array(client),
  }),
  run(_input, { doors }) {
    const base = doors.settings.baseUrl;
    const address: Address = {
      url: `${base}/mcp`,
      authorization: `Bearer ${PLACEHOLDER}`,
      command: ["npx", "-y", "ostiary", "mcp", "--server", base, "--key", `env:${KEY_VARIABLE}`],
      env: { [KEY_VARIABLE]: PLACEHOLDER },
    };
    return {
      url: address.url,
      placeholder: PLACEHOLDER,
      clients: CLIENTS.map((one) => view(one, address)),
    };
  },
});

function view(one: Client, address: Address): z.input<typeof client> {
  const { id, title, format, keyInFile, restarts, deeplink, command } = one;
  const entry = one.entry(address);
  return {
    id,
    title,
    format,
    snippet: snippetOf(one, entry),
    files: filesOf(one),
    transport: keyInFile ? "stdio" : "http",
    command: command ? shellLine(command(address)) : null,
    deeplink: deeplink && {
      template: deeplink.template,
      encoding: deeplink.encoding,
      config: JSON.stringify(deeplink.config(entry)),
    },
    restarts,
  };
}

/** As people write them, whatever their home is. */
function filesOf(one: Client): z.input<typeof files> {
  const of = (platform: NodeJS.Platform, home: string, env = {}): string =>
    one.file({ platform, home, env, cwd: "." }, "user") ?? "";
  return {
    linux: of("linux", "~"),
    macos: of("darwin", "~"),
    windows: of("win32", "%USERPROFILE%", { APPDATA: "%APPDATA%" }),
    project: one.file({ platform: "linux", home: "~", env: {}, cwd: "." }, "project"),
  };
}
