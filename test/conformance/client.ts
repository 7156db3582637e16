// The program that the referee starts to judge a client: the product's own connections and credentials, driven as a
// caller and a person would drive them. The address of the referee's server is the last argument.
import type { InputAnswers, InputQuestions, Json, JsonObject } from "../../src/contract/call.ts";
import { faultOf } from "../../src/contract/errors.ts";
import type { OAuthSettings, ServerRow } from "../../src/storage/store/store.ts";
import {
  UpstreamFault,
  type UpstreamConnection,
  type RequestOptions,
} from "../../src/reach/upstream/upstream.ts";
import { behindLogin, openHouse, serverRow } from "../fixtures/credentials.ts";

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

/** What the caller's client can be asked. */
const CAPABILITIES: JsonObject = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {} },
};
/** A person gives up after so many logins. */
const MAX_LOGINS = 3;
/** Servers of the referee that do not say of themselves that they are modern, though they are. */
const SILENT = new Set([
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "sep-2322-client-request-state",
]);
const DOCUMENT = "https://conformance-test.local/client-metadata.json";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context;
const url = process.argv.at(-1) ?? "";
const house = await openHouse({
  documentUrl: DOCUMENT,
  redirectUrl: "http://localhost:3100/oauth/callback",
});

const options = (): RequestOptions => ({
  signal: AbortSignal.timeout(120_000),
  timeoutMs: 120_000,
  ask,
  clientCapabilities: CAPABILITIES,
});
const call = (
  connection: UpstreamConnection,
  name: string,
  args: JsonObject,
): Promise<JsonObject> => connection.request("tools/call", { name, arguments: args }, options());
const list = async (connection: UpstreamConnection, what: string): Promise<JsonObject[]> =>
  ((await connection.request(`${what}/list`, {}, options()))[what] ?? []) as JsonObject[];

/** Says yes to everything, with what the form itself proposes. */
async function ask(questions: InputQuestions): Promise<InputAnswers> {
  const answers = Object.entries(questions).map(([key, { params }]) => {
    const properties = ((params["requestedSchema"] as JsonObject | undefined)?.["properties"] ??
      {}) as Record<string, JsonObject>;
    const content = Object.entries(properties).map(([name, schema]): [string, Json] => [
      name,
      schema["default"] ?? true,
    ]);
    return [key, { action: "accept", content: Object.fromEntries(content) }] as const;
  });
  return Promise.resolve(Object.fromEntries(answers));
}

/** What a caller does in most scenarios: looks what there is, and uses it. */
async function use(connection: UpstreamConnection): Promise<void> {
  const tools = await list(connection, "tools");
  const wanted =
    context.toolCalls ??
    tools.map(({ name }) => ({ name: name as string, arguments: argumentsFor(name as string) }));
  for (const one of wanted) await tried(call(connection, one.name, one.arguments));
}

const argumentsFor = (name: string): JsonObject =>
  name === "add_numbers" ? { a: 5, b: 3 } : name === "valid_tool" ? { region: "us-west1" } : {};

/** A server may refuse single calls, as long as it is not for want of a login. */
async function tried(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (!(cause instanceof UpstreamFault) || cause.kind === "unauthorized") throw cause;
  }
}

async function useEverything(connection: UpstreamConnection): Promise<void> {
  await use(connection);
  for (const { uri } of await list(connection, "resources"))
    await connection.request("resources/read", { uri: uri ?? "" }, options());
  for (const { name } of await list(connection, "prompts"))
    await connection.request("prompts/get", { name: name ?? "", arguments: {} }, options());
}

async function ask2322(connection: UpstreamConnection): Promise<void> {
  for (const name of ["echo_state", "no_state", "unrelated", "no_result_type"])
    await tried(call(connection, `test_mrtr_${name}`, {}));
}

const USES: Readonly<Record<string, (connection: UpstreamConnection) => Promise<void>>> = {
  "http-standard-headers": useEverything,
  "sep-2322-client-request-state": ask2322,
};

async function once(row: ServerRow): Promise<void> {
  const credential = await house.credentials.of(row, "caller");
  if (SILENT.has(scenario)) house.verdicts.set(row, credential.id, modern);
  const connection = await house.connect(row, credential, scenario.startsWith("elicitation"));
  try {
    await (USES[scenario] ?? use)(connection);
  } finally {
    await connection.close();
  }
}

const modern = {
  kind: "modern",
  discover: {
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
  },
} as unknown as Parameters<typeof house.verdicts.set>[2];

/** The person in front of the browser: opens the address, and is sent back with the answer. */
async function logIn(row: ServerRow): Promise<void> {
  const target = await house.credentials.logins.begin(row, "caller");
  const response = await fetch(target, { redirect: "manual" });
  const back = new URL(response.headers.get("location") ?? "", target);
  const login = await house.credentials.logins.begun(back.searchParams.get("state") ?? "", () =>
    Promise.resolve(row),
  );
  await house.credentials.logins.finish(login, back.searchParams);
}

async function rowFor(): Promise<ServerRow> {
  if (!scenario.startsWith("auth/"))
    return serverRow({ kind: "http", url, headers: {}, auth: "headers" });
  const oauth: OAuthSettings = {
    ...(scenario.startsWith("auth/client-credentials") ? { grant: "client_credentials" } : {}),
    ...(context.client_id === undefined ? {} : { clientId: context.client_id }),
    ...(context.client_secret === undefined ? {} : { clientSecret: "${credential:SECRET}" }),
    ...(context.private_key_pem === undefined
      ? {}
      : { privateKey: "${credential:KEY}", algorithm: context.signing_algorithm ?? "ES256" }),
  };
  const row: ServerRow = {
    ...behindLogin(url),
    transport: { kind: "http", url, headers: {}, auth: "oauth", oauth },
  };
  if (context.client_secret !== undefined)
    await house.credentials.put(row, "", "SECRET", context.client_secret);
  if (context.private_key_pem !== undefined)
    await house.credentials.put(row, "", "KEY", context.private_key_pem);
  return row;
}

const wantsLogin = (cause: unknown): boolean =>
  (cause instanceof UpstreamFault && cause.kind === "unauthorized") ||
  faultOf(cause).reason === "upstream_login";

async function run(): Promise<void> {
  const row = await rowFor();
  for (let logins = 0; ; logins++) {
    try {
      return await once(row);
    } catch (cause) {
      if (!wantsLogin(cause) || logins === MAX_LOGINS) throw cause;
      await logIn(row);
    }
  }
}

try {
  await run();
} catch (cause) {
  console.error(cause);
  process.exitCode = 1;
} finally {
  await house.close();
}
