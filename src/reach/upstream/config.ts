// `mcpServers` of the settings, in the words AI clients use for theirs.
import { z } from "zod";

const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const FOLDER = /^(?:\/|~\/|\.{1,2}\/).*$/;

const word = z.string().min(1).max(4_096);
const texts = z.record(z.string().min(1).max(128), z.string().max(8_192));

const serverConfig = z
  .strictObject({
    type: z.enum(["stdio", "http", "streamable-http", "sse"]).optional(),
    command: z.union([word, z.array(word).min(1).max(256)]).optional(),
    args: z.array(z.string().max(4_096)).max(256).default([]),
    env: texts.default({}),
    cwd: word.optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .optional(),
    headers: texts.default({}),
    description: z.string().max(500).default(""),
    disabled: z.boolean().default(false),
    timeout: z.int().min(1).max(300).default(60),
    isolation: z.enum(["sandbox", "none"]).default("sandbox"),
    folders: z
      .array(
        z.string().regex(FOLDER, "expected a path, with :rw behind it where it may be written"),
      )
      .max(100)
      .default([]),
    network: z.array(word).max(100).default([]),
    localSockets: z.boolean().default(false),
    auth: z.enum(["headers", "oauth"]).default("headers"),
    credentials: z.enum(["shared", "user"]).default("shared"),
  })
  .refine(
    ({ command, url }) => (command === undefined) !== (url === undefined),
    "expected either command or url",
  );

export type ServerConfig = z.output<typeof serverConfig>;

export const mcpServersConfig = z
  .record(
    z.string().regex(NAME, "expected a name in [a-z][a-z0-9_-], at most 32 characters"),
    serverConfig,
  )
  .describe(
    "MCP servers behind this one, by name: `command` (a program, or a list), `args`, `env`, `cwd`, or `url`, `headers`, `type` (http, sse), `auth`; `timeout` in seconds (default 60), `isolation` (sandbox, none), `folders` (`path` or `path:rw`), `network` (hosts it may reach), `localSockets`, `credentials` (shared, user), `disabled`. Values of `env` and `headers` are sealed. Their tools wait for approval as all others do.",
  );
