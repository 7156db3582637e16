// APIs as servers, for administrators: imported, imported anew, or an endpoint more. The administration of servers
// does the rest.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ForeignDefinition } from "../../storage/store/store.ts";
import type {
  ServerAdmin,
  ServerView,
  SettingsInput,
  ServerCheck,
} from "../upstream/admin/server-admin.ts";
import { refused, type ConversionNote } from "./document.ts";
import type { ApiEndpoint } from "./endpoint.ts";
import type { ApiSource, ImportApi } from "./import.ts";
import type { ApiImport } from "./openapi.ts";

interface ApiGiven extends ApiSource {
  readonly description?: string | undefined;
  /** Over what the document proposes; absent at another import: as they are. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Values for `${credential:NAME}`; sealed at once. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  readonly settings?: SettingsInput | undefined;
  /** Only reads the source, and keeps nothing; for what is not there yet. */
  readonly dryRun?: boolean | undefined;
}

export interface ApiAdmin {
  /** A new server, or another import of one: what changed waits for approval again. */
  put(actor: Caller, name: string, given: ApiGiven, signal: AbortSignal): Promise<ApiCheck>;
  /** One endpoint more, or another one under its name. */
  addEndpoint(
    actor: Caller,
    name: string,
    endpoint: ApiEndpoint,
    signal: AbortSignal,
  ): Promise<ServerCheck>;
}

interface ApiCheck extends ServerCheck {
  readonly isNew: boolean;
}

type Api = Extract<ServerView["transport"], { kind: "api" }>;

const MAX_STORED_CHARS = 4_194_304;

interface ApiAdminPowers {
  readonly servers: Pick<ServerAdmin, "add" | "get" | "update">;
  readonly importApi: ImportApi;
}

export function createApiAdmin({ servers, importApi }: ApiAdminPowers): ApiAdmin {
  const there = async (actor: Caller, name: string): Promise<Api | null> => {
    try {
      return apiOf(await servers.get(actor, name));
    } catch (cause) {
      if (cause instanceof AppError && cause.code === "NOT_FOUND") return null;
      throw cause;
    }
  };

  return {
    async put(actor, name, given, signal) {
      const { dryRun, credentials, settings } = given;
      // Before anything is fetched: also who asks is judged there.
      const former = await there(actor, name);
      if (former && dryRun === true)
        throw refused(
          "/dryRun",
          `${name} exists already`,
          "import it: what differs waits for approval, and what was approved is kept",
        );
      if (former && given.credentials)
        throw refused(
          "/credentials",
          `${name} exists already`,
          `store them by themselves: ostiary servers credential ${name} NAME`,
        );
      const source = { ...given, url: given.url ?? former?.url };
      const found = await importApi(source, signal);
      const headers = given.headers ?? former?.headers ?? found.headers;
      const transport = {
        kind: "api",
        url: agreedUrl(source, found),
        headers,
        operations: withinSizeLimit(found.operations),
      } as const;
      const { description = found.title } = given;
      const notes = [...missingCredentials(name, headers, given), ...found.notes.map(noteText)];
      const tried = former
        ? await servers.update(
            actor,
            name,
            { transport, settings, ...(given.description === undefined ? {} : { description }) },
            signal,
          )
        : await servers.add(
            actor,
            { name, description, transport, credentials, settings, dryRun },
            signal,
          );
      return { ...tried, notes: [...tried.notes, ...notes], isNew: former === null };
    },
    async addEndpoint(actor, name, endpoint, signal) {
      const { url, headers, operations } = apiOf(await servers.get(actor, name));
      const { operations: added, notes } = await importApi({ endpoints: [endpoint], url }, signal);
      const others = operations.filter((one) => one.name !== endpoint.name);
      const tried = await servers.update(
        actor,
        name,
        {
          transport: {
            kind: "api",
            url,
            headers,
            operations: withinSizeLimit([...others, ...added]),
          },
        },
        signal,
      );
      return { ...tried, notes: [...tried.notes, ...notes.map(noteText)] };
    },
  };
}

function apiOf({ name, transport }: ServerView): Api {
  if (transport.kind === "api") return transport;
  throw new AppError(
    "CONFLICT",
    "already_exists",
    `${name} is a server of another kind (${transport.kind})`,
    { remedy: "choose another name" },
  );
}

/** A document alone does not decide which host is reached: an administrator has to name it. */
function agreedUrl({ url, openapi }: ApiSource, found: ApiImport): string {
  if (found.url === null)
    throw refused(
      "/url",
      "the document does not say where the API lives",
      "send url, as https://host/path",
    );
  const isNamed =
    url !== undefined ||
    openapi === undefined ||
    URL.parse(openapi.trim())?.origin === new URL(found.url).origin;
  if (!isNamed)
    throw refused(
      "/url",
      `the document says that the API lives at ${found.url}`,
      `if that is right, send url: ${found.url}`,
    );
  return found.url;
}

function withinSizeLimit(operations: readonly ForeignDefinition[]): readonly ForeignDefinition[] {
  const chars = JSON.stringify(operations).length;
  if (chars > MAX_STORED_CHARS)
    throw refused(
      "/choose",
      `the operations take ${chars} characters; at most ${MAX_STORED_CHARS} are kept`,
      "choose those that are needed, e.g. tag:pets",
    );
  return operations;
}

/** Which credentials are still to be given, and how. */
function missingCredentials(
  name: string,
  headers: Readonly<Record<string, string>>,
  { credentials = {} }: ApiGiven,
): string[] {
  return Object.entries(headers).flatMap(([header, value]) =>
    [...value.matchAll(/\$\{credential:([^${}]*)\}/g)]
      .filter(([, credential = ""]) => !Object.hasOwn(credentials, credential))
      .map(
        ([, credential = ""]) =>
          `${header} is sent with the credential ${credential}; unless it is stored already: ostiary servers credential ${name} ${credential}`,
      ),
  );
}

const noteText = ({ path, message }: ConversionNote): string => `${path}: ${message}`;
