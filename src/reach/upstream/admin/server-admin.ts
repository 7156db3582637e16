// What administrators can do with upstream servers.
import type { Caller } from "../../../contract/call.ts";
import type { Fault, FieldFault } from "../../../contract/errors.ts";
import type {
  ForeignDefinition,
  OAuthSettings,
  ServerRow,
  ServerSettings,
  ServerToolRow,
  ServerToolState,
  ServerTransport,
  ToolTerms,
} from "../../../storage/store/store.ts";
import type { CredentialView } from "../credentials/credentials.ts";
import type { ToolGrant } from "./tool-links.ts";
import type { ServerHealth } from "../upstream.ts";

/** As it is given: what is left out has a sensible value. */
export type TransportInput =
  | {
      readonly kind: "stdio";
      readonly argv: readonly string[];
      /** Relative paths of argv start here; a folder of this machine. */
      readonly cwd?: string | undefined;
      readonly env?: Readonly<Record<string, string>> | undefined;
      readonly isolation?: "sandbox" | "none" | undefined;
      readonly folders?:
        readonly { readonly path: string; readonly access: "ro" | "rw" }[] | undefined;
      readonly network?: "none" | { readonly hosts: readonly string[] } | undefined;
      readonly localSockets?: boolean | undefined;
    }
  | {
      readonly kind: "http" | "sse";
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly auth?: "headers" | "oauth" | undefined;
      readonly oauth?: OAuthSettings | undefined;
    }
  | {
      readonly kind: "api";
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly operations: readonly ForeignDefinition[];
    };

export type SettingsInput = {
  readonly [K in keyof ServerSettings]?: ServerSettings[K] | undefined;
};

/** Which of them, and what their programs may see and reach besides: the files of clients know nothing of a sandbox. */
export interface ImportOptions extends Pick<
  Extract<TransportInput, { readonly kind: "stdio" }>,
  "folders" | "network"
> {
  /** By name; all where it is left out. */
  readonly only?: readonly string[] | undefined;
  /** Only tries each of them: connects, lists, and keeps nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface NewServer {
  readonly name: string;
  readonly description?: string | undefined;
  readonly transport: TransportInput;
  readonly settings?: SettingsInput | undefined;
  readonly enabled?: boolean | undefined;
  /** Values for `${credential:NAME}`; sealed at once. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  /** Only tries: connects, lists, and keeps nothing. */
  readonly dryRun?: boolean | undefined;
}

interface ServerEdit {
  readonly description?: string | undefined;
  readonly transport?: TransportInput | undefined;
  readonly settings?: SettingsInput | undefined;
  readonly enabled?: boolean | undefined;
}

export interface ServerView {
  readonly name: string;
  readonly tenantId: string;
  readonly description: string;
  readonly transport: ServerTransport;
  readonly settings: ServerSettings;
  readonly enabled: boolean;
  readonly origin: ServerRow["origin"];
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly health: ServerHealth | null;
  /** How many of its tools are in which state. */
  readonly tools: Readonly<Record<ServerToolState, number>>;
}

/** The result of connecting to a server: its state, and what it offers. */
export interface ServerCheck {
  readonly server: ServerView;
  /** Why it could not be reached or listed; null when it could. */
  readonly fault: Fault | null;
  readonly tools: readonly ServerToolView[];
  /** Remarks for the administrator. */
  readonly notes: readonly string[];
}

export interface ServerToolView extends ServerToolRow {
  /** From the definition that is offered now, hidden characters written out. */
  readonly title: string | null;
  readonly description: string;
}

export interface ServerToolDetails extends ServerToolView {
  /** The whole definition as readable text. */
  readonly text: string;
  readonly definition: ForeignDefinition;
  /** Against the approved one; empty when they are equal or none was approved. */
  readonly diff: readonly string[];
  /** What its words would propose, for comparison. */
  readonly proposed: ToolTerms;
  readonly versions: readonly VersionView[];
  /** Capsules of the tenant that hold it. */
  readonly capsules: readonly string[];
}

interface VersionView {
  readonly pin: string;
  readonly firstSeenAt: number;
  readonly approvedAt: number | null;
  readonly approvedBy: string | null;
  readonly isApproved: boolean;
  readonly isOffered: boolean;
}

export interface Approval {
  /** Names; absent: all that are pending. */
  readonly tools?: readonly string[] | undefined;
  /** Over what was proposed, for each of them. */
  readonly terms?: { readonly [K in keyof ToolTerms]?: ToolTerms[K] | undefined } | undefined;
  /** Capsules that get them; absent: those with every native tool, and the default one; empty: none. */
  readonly capsules?: readonly string[] | undefined;
  readonly grant?: ToolGrant | undefined;
  /** By name: the approval fails if the server offers another definition by now. */
  readonly expectedPins?: Readonly<Record<string, string>> | undefined;
  /** Also where a finding is a danger. */
  readonly evenWithFindings?: boolean | undefined;
}

export interface Approved {
  readonly tools: readonly ServerToolView[];
  readonly capsules: readonly string[];
  readonly grant: ToolGrant;
}

/** What became of a file of an AI client. */
interface ImportResult {
  readonly servers: readonly ImportedEntry[];
  /** Entries that mean nothing here, each with its place in the file. */
  readonly faults: readonly FieldFault[];
}

export interface ImportedEntry {
  readonly name: string;
  /** What it is called in the file. */
  readonly called: string;
  /** Null: it could not be added, and `fault` says why. */
  readonly tried: ServerCheck | null;
  readonly fault: Fault | null;
  /** Credentials that it refers to and the file gives no value for. */
  readonly needs: readonly string[];
  /** Fields that mean nothing here. */
  readonly ignored: readonly string[];
}

/** Only administrators, and only servers of their tenant. Throws NOT_FOUND, BAD_REQUEST, FORBIDDEN or CONFLICT. */
export interface ServerAdmin {
  add(actor: Caller, made: NewServer, signal: AbortSignal): Promise<ServerCheck>;
  /** Throws what `add` would before it writes or connects. */
  checkNew(actor: Caller, made: NewServer): Promise<void>;
  list(actor: Caller): Promise<readonly ServerView[]>;
  get(actor: Caller, name: string): Promise<ServerView>;
  update(actor: Caller, name: string, edit: ServerEdit, signal: AbortSignal): Promise<ServerCheck>;
  remove(actor: Caller, name: string): Promise<ServerView>;
  /** Connects anew and reviews what it offers. */
  restart(actor: Caller, name: string, signal: AbortSignal): Promise<ServerCheck>;
  /** Reviews what it offers, over the existing connection. */
  check(actor: Caller, name: string, signal: AbortSignal): Promise<ServerCheck>;
  logs(actor: Caller, name: string): Promise<readonly string[]>;
  tools(actor: Caller, name: string): Promise<readonly ServerToolView[]>;
  tool(actor: Caller, name: string, tool: string): Promise<ServerToolDetails>;
  approve(actor: Caller, name: string, approval: Approval): Promise<Approved>;
  /** What was approved of them is withdrawn; of a changed one only what is new is turned down. */
  reject(
    actor: Caller,
    name: string,
    tools: readonly string[],
    reason: string | null,
  ): Promise<readonly ServerToolView[]>;
  /** An earlier definition is the approved one again: it can be called while the server offers exactly that. */
  rollback(actor: Caller, name: string, tool: string, pin: string): Promise<ServerToolView>;
  /** `mcpServers` as AI clients write it down. */
  import(
    actor: Caller,
    text: string,
    options: ImportOptions,
    signal: AbortSignal,
  ): Promise<ImportResult>;
  credentials(
    actor: Caller,
    name: string,
  ): Promise<{
    readonly shared: readonly CredentialView[];
    readonly own: readonly CredentialView[];
  }>;
  putCredential(
    actor: Caller,
    name: string,
    given: { readonly name: string; readonly value: string; readonly own: boolean },
  ): Promise<void>;
  removeCredential(
    actor: Caller,
    name: string,
    given: { readonly name: string; readonly own: boolean },
  ): Promise<boolean>;
}
