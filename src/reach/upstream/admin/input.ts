// How a server is to be reached, checked before anything is stored: every fault names its field.
import { isAbsolute } from "node:path";
import { AppError, type FieldFault } from "../../../contract/errors.ts";
import type {
  OAuthSettings,
  ServerSettings,
  ServerTransport,
} from "../../../storage/store/store.ts";
import { credentialName, withoutSecrets } from "../credentials/plain-secrets.ts";
import type { SettingsInput, TransportInput } from "./server-admin.ts";

export const DEFAULT_SETTINGS: ServerSettings = {
  timeoutMs: 60_000,
  maxConcurrent: 64,
  maxQueued: 256,
  recheckMs: 0,
  breakerFailures: 5,
  breakerResetMs: 30_000,
  maxResultBytes: 8_388_608,
  credentials: "shared",
};

/** Where a program lies, and which folders it needs to start. */
export type ResolveProgram = (
  argv: readonly string[],
  cwd: string,
  options: Pick<StdioReach, "isolation" | "network">,
) => Promise<Program> | Program;
type StdioReach = Extract<ServerTransport, { kind: "stdio" }>;

interface Program {
  readonly argv: readonly string[];
  readonly folders: readonly { readonly path: string; readonly access: "ro" | "rw" }[];
}

export interface ReachedBy {
  readonly transport: ServerTransport;
  /** What stood there in plain and is now referred to, by the names of credentials. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

type Stdio = Extract<TransportInput, { kind: "stdio" }>;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** Ours to write, or they would change what a request is. */
const RESERVED_HEADERS =
  /^(?:host|content-length|content-type|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept|mcp-.*|proxy-.*)$/i;
const HOST =
  /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?|\[[0-9a-f:.]+\](?::\d{1,5})?)$/i;
const QUERY = /^query:[A-Za-z0-9_.~-]{1,64}$/;

export async function readTransport(
  input: TransportInput,
  resolveProgram: ResolveProgram,
): Promise<ReachedBy> {
  const faults: FieldFault[] = [];
  if (input.kind === "stdio") {
    const made = await program(input, faults, resolveProgram);
    refuse(faults);
    return made;
  }
  urlFaults(input.url, faults);
  const headers = input.headers ?? {};
  for (const [name, value] of Object.entries(headers)) {
    const place = `/transport/headers/${name}`;
    const isQuery = input.kind === "api" && QUERY.test(name);
    if (!isQuery && !HEADER.test(name))
      faults.push({
        path: place,
        message: "no header can have this name",
        suggestion: "letters, digits and -",
      });
    if (RESERVED_HEADERS.test(name))
      faults.push({
        path: place,
        message: "this header is written by Ostiary itself",
        suggestion: "leave it out",
      });
    // eslint-disable-next-line no-control-regex -- what a header cannot hold is the rule
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      faults.push({ path: place, message: "a header holds one line of visible characters" });
  }
  refuse(faults);
  const { texts, secrets } = withoutSecrets(headers, "headers");
  if (input.kind === "api")
    return {
      transport: { kind: "api", url: input.url, headers: texts, operations: input.operations },
      secrets,
      notes: sealedNotes(secrets),
    };
  const oauth =
    input.oauth === undefined ? { settings: undefined, secrets: {} } : oauthOf(input.oauth);
  const all = { ...secrets, ...oauth.secrets };
  const transport = {
    kind: input.kind,
    url: input.url,
    headers: texts,
    auth: input.auth ?? (input.oauth ? "oauth" : "headers"),
    ...(oauth.settings ? { oauth: oauth.settings } : {}),
  } as const;
  return { transport, secrets: all, notes: sealedNotes(all) };
}

async function program(
  input: Stdio,
  faults: FieldFault[],
  resolveProgram: ResolveProgram,
): Promise<ReachedBy> {
  const {
    argv,
    env = {},
    isolation = "sandbox",
    folders = [],
    network = "none",
    localSockets = false,
  } = input;
  if (argv.length === 0 || argv[0]?.trim() === "")
    faults.push({
      path: "/transport/argv",
      message: "expected a program and its arguments",
      suggestion: 'e.g. ["node", "server.js"]',
    });
  if (argv.some((word) => word.includes("\0")))
    faults.push({ path: "/transport/argv", message: "an argument holds a NUL character" });
  for (const name of Object.keys(env))
    if (!VARIABLE.test(name))
      faults.push({
        path: `/transport/env/${name}`,
        message: "no variable can have this name",
        suggestion: "letters, digits and _",
      });
  for (const [name, value] of Object.entries(env))
    if (value.includes("\0"))
      faults.push({ path: `/transport/env/${name}`, message: "the value holds a NUL character" });
  folders.forEach(({ path }, at) => {
    if (!isAbsolute(path))
      faults.push({
        path: `/transport/folders/${at}/path`,
        message: `expected an absolute path, got ${JSON.stringify(path)}`,
      });
  });
  if (network !== "none")
    network.hosts.forEach((host, at) => {
      if (!HOST.test(host))
        faults.push({
          path: `/transport/network/hosts/${at}`,
          message: `expected a host name, got ${JSON.stringify(host)}`,
          suggestion: "e.g. api.example.com, or * for any public one",
        });
    });
  if (input.cwd !== undefined && !isAbsolute(input.cwd))
    faults.push({ path: "/transport/cwd", message: "expected an absolute path" });
  refuse(faults);
  const found = await resolveProgram(argv, input.cwd ?? "/", { isolation, network });
  const { texts, secrets } = withoutSecrets(env, "env");
  const inArguments = argv.filter(
    (word) => Object.keys(withoutSecrets({ argument: word }, "env").secrets).length > 0,
  ).length;
  const notes = [
    ...sealedNotes(secrets),
    ...(inArguments > 0
      ? [
          `${inArguments} of the arguments look like secrets; arguments are shown to every administrator: give them in a variable instead`,
        ]
      : []),
    ...(isolation === "none"
      ? ["it runs outside of the sandbox, with the rights of this server"]
      : []),
  ];
  return {
    transport: {
      kind: "stdio",
      argv: found.argv,
      env: texts,
      isolation,
      folders: united([...folders, ...found.folders]),
      network,
      localSockets,
    },
    secrets,
    notes,
  };
}

/** Each once, with the wider access. */
function united(folders: Program["folders"]): Program["folders"] {
  const access = new Map<string, "ro" | "rw">();
  for (const folder of folders)
    if (access.get(folder.path) !== "rw") access.set(folder.path, folder.access);
  return [...access].map(([path, how]) => ({ path, access: how }));
}

function oauthOf(given: OAuthSettings): {
  settings: OAuthSettings;
  secrets: Record<string, string>;
} {
  const secrets: Record<string, string> = {};
  const sealed = (name: "clientSecret" | "privateKey"): Partial<OAuthSettings> => {
    const value = given[name];
    if (value === undefined || value.includes("${credential:")) return {};
    const credential = credentialName(`oauth ${name}`);
    secrets[credential] = value;
    return { [name]: `\${credential:${credential}}` };
  };
  return { settings: { ...given, ...sealed("clientSecret"), ...sealed("privateKey") }, secrets };
}

function sealedNotes(secrets: Readonly<Record<string, string>>): string[] {
  return Object.keys(secrets).map(
    (name) =>
      `what looked like a secret was sealed as the credential ${name}, and is referred to as \${credential:${name}}`,
  );
}

function urlFaults(text: string, faults: FieldFault[]): void {
  const url = URL.parse(text);
  const path = "/transport/url";
  if (url === null || !/^https?:$/.test(url.protocol))
    faults.push({
      path,
      message: `expected an http:// or https:// address, got ${JSON.stringify(text.slice(0, 200))}`,
    });
  else if (url.username !== "" || url.password !== "")
    faults.push({
      path,
      message: "an address with a name or password in it is kept and shown in plain",
      suggestion: "give an Authorization header with ${credential:NAME} instead",
    });
}

export function readSettings(
  given: SettingsInput | undefined,
  former: ServerSettings = DEFAULT_SETTINGS,
): ServerSettings {
  const changes = Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== undefined),
  );
  return { ...former, ...changes };
}

function refuse(faults: readonly FieldFault[]): void {
  const [first] = faults;
  if (first) throw invalid(first.path, first.message, first.suggestion, faults);
}

export function invalid(
  path: string,
  message: string,
  suggestion?: string,
  errors?: readonly FieldFault[],
): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `${path}: ${message}`, {
    ...(suggestion === undefined ? {} : { remedy: suggestion }),
    errors: errors ?? [{ path, message, ...(suggestion === undefined ? {} : { suggestion }) }],
  });
}
