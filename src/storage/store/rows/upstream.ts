// Upstream servers, what they offer, and the secrets they are reached with.
import type { JsonObject } from "../../../contract/call.ts";
import type { Category, Effects, Risk } from "../../../contract/tool.ts";

/** How a server is reached. Texts may hold `${credential:NAME}`, filled in when it is reached and never shown. */
export type ServerTransport =
  | {
      readonly kind: "stdio";
      /** A program and its arguments; never a shell line. */
      readonly argv: readonly string[];
      /** The whole environment besides what the sandbox sets. */
      readonly env: Readonly<Record<string, string>>;
      /** sandbox: in a box, or not at all; none: an administrator switched the sandbox off, which is recorded. */
      readonly isolation: "sandbox" | "none";
      /** Folders of the host it may have, at the same path inside; nothing else of the host is there. */
      readonly folders: readonly { readonly path: string; readonly access: "ro" | "rw" }[];
      /** none: no network at all; guarded: through the egress guard, to these hosts (`*` = any public one). */
      readonly network: "none" | { readonly hosts: readonly string[] };
      /** Lets it make unix sockets of its own, which a browser needs; none leads out of the box. */
      readonly localSockets: boolean;
    }
  | {
      /** sse: the transport of 2024. */
      readonly kind: "http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** oauth: authorization as MCP describes it; headers: what `headers` says is all there is. */
      readonly auth: "headers" | "oauth";
      /** What cannot be discovered; absent: everything is. */
      readonly oauth?: OAuthSettings | undefined;
    }
  | {
      /** An HTTP API whose operations are tools. */
      readonly kind: "api";
      /** What every path is appended to: scheme, host, and perhaps a path. No other host is ever reached. */
      readonly url: string;
      /** Sent with every request. `query:NAME` instead of a header's name puts the value into the address. */
      readonly headers: Readonly<Record<string, string>>;
      /**
       * As they were imported or written by hand: an API does not list what it offers, so these change only with
       * another import.
       */
      readonly operations: readonly ForeignDefinition[];
    };

export interface OAuthSettings {
  /** client_credentials: the server is reached as ourselves, and nobody logs in. Without it people do. */
  readonly grant?: "authorization_code" | "client_credentials" | undefined;
  /** As the authorization server knows us already; absent: we introduce ourselves. */
  readonly clientId?: string | undefined;
  /** May hold `${credential:NAME}`, which is shared also where users log in themselves. */
  readonly clientSecret?: string | undefined;
  /** PKCS #8 in PEM, instead of a secret; as above. */
  readonly privateKey?: string | undefined;
  /** Of the key: ES256 by default. */
  readonly algorithm?: string | undefined;
  /** The only authorization server that gets to see the above; absent: the first one that was met. */
  readonly issuer?: string | undefined;
  /** Asked for at login, instead of what the server says. */
  readonly scope?: string | undefined;
}

export interface ServerSettings {
  /** Of a call, where neither caller nor tool says another. */
  readonly timeoutMs: number;
  /** Requests at once; more wait. */
  readonly maxConcurrent: number;
  /** How many may wait; more are refused. */
  readonly maxQueued: number;
  /** How old its definitions may be when a call is sent; 0: they are read before each call. */
  readonly recheckMs: number;
  /** So many failures in a row open the breaker for so long. */
  readonly breakerFailures: number;
  readonly breakerResetMs: number;
  /** Larger answers are refused. */
  readonly maxResultBytes: number;
  /** user: each user stores a credential of their own; shared: the one that an administrator stored. */
  readonly credentials: "shared" | "user";
}

export interface ServerRow {
  /**
   * Also the first part of its tools' names: [a-z][a-z0-9_-]{0,31}, none of the ten categories. Unique over all
   * tenants.
   */
  readonly name: string;
  readonly tenantId: string;
  readonly description: string;
  readonly transport: ServerTransport;
  readonly settings: ServerSettings;
  readonly enabled: boolean;
  /** configuration: only the settings change it. */
  readonly origin: "api" | "configuration";
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A capability as the server describes it, untrusted; only what the pin covers. */
export interface ForeignDefinition {
  /** tools/call for tools; the others stand for what else a server can be asked. */
  readonly method: UpstreamMethod;
  /** Its own name; empty where the method is the capability. */
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | null;
  readonly annotations: JsonObject | null;
  /** Of an API: how the operation is called. */
  readonly operation: JsonObject | null;
}

export const UPSTREAM_METHODS = [
  "tools/call",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "http",
] as const;
export type UpstreamMethod = (typeof UPSTREAM_METHODS)[number];

/**
 * pending: new, nobody has looked; approved; changed: it differs from what was approved, which is kept; removed: the
 * server no longer offers it; rejected: a person rejected it; refused: it cannot be taken, for `reason`.
 */
export type ServerToolState =
  "pending" | "approved" | "changed" | "removed" | "rejected" | "refused";

/** What an administrator decides about a tool; proposed from its words, which are never trusted. */
export interface ToolTerms {
  readonly category: Category;
  readonly risk: Risk;
  readonly effects: Effects;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  readonly cacheable: boolean;
}

/** Something in a definition that its approver should see. */
export interface Finding {
  readonly kind:
    | "invisible"
    | "bidi"
    | "control"
    | "instruction"
    | "other_tool"
    | "encoded"
    | "link"
    | "long"
    | "schema";
  readonly severity: "info" | "warning" | "danger";
  /** JSON pointer into the definition. */
  readonly path: string;
  readonly message: string;
  /** The place itself, hidden characters made visible. */
  readonly excerpt: string;
}

export interface ServerToolRow {
  readonly server: string;
  readonly method: UpstreamMethod;
  /** The server's own name for it. */
  readonly upstreamName: string;
  /** `server/tool`. */
  readonly name: string;
  readonly wireName: string;
  readonly state: ServerToolState;
  readonly reason: string | null;
  /** Of the definition that was approved; null: none ever was. */
  readonly approvedPin: string | null;
  /** Of the definition the server offers now. */
  readonly seenPin: string;
  readonly terms: ToolTerms;
  readonly findings: readonly Finding[];
  readonly firstSeenAt: number;
  readonly seenAt: number;
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
}

/** Every definition that was ever seen, under its pin. */
export interface ServerToolVersion {
  readonly server: string;
  readonly name: string;
  readonly pin: string;
  readonly definition: ForeignDefinition;
  readonly firstSeenAt: number;
  readonly approvedAt: number | null;
  readonly approvedBy: string | null;
}

export interface CredentialRow {
  readonly server: string;
  readonly tenantId: string;
  /** Empty: shared. */
  readonly userId: string;
  /** As `${credential:NAME}` names it, or `oauth <issuer>` for what an authorization gave. */
  readonly name: string;
  /** Encrypted for this row. */
  readonly sealed: string;
  readonly updatedAt: number;
}

export interface UpstreamStore {
  readonly servers: {
    /** Throws AlreadyExists("server"). */
    create(row: ServerRow): Promise<void>;
    get(name: string): Promise<ServerRow | null>;
    /** Of one tenant, or of all. */
    list(tenantId?: string): Promise<ServerRow[]>;
    update(
      name: string,
      change: Partial<
        Pick<ServerRow, "description" | "transport" | "settings" | "enabled" | "origin">
      > & { readonly updatedAt: number },
    ): Promise<ServerRow | null>;
    /** With its tools, their versions and its credentials. */
    remove(name: string): Promise<boolean>;
  };

  readonly serverTools: {
    list(server: string): Promise<ServerToolRow[]>;
    get(server: string, name: string): Promise<ServerToolRow | null>;
    /**
     * Inserts or replaces rows, and keeps the definitions under their pins, in one transaction. A row that was
     * decided later than the one given stays as it is.
     */
    save(rows: readonly ServerToolRow[], versions: readonly ServerToolVersion[]): Promise<void>;
    /** Newest first. */
    versions(server: string, name: string): Promise<ServerToolVersion[]>;
    version(server: string, name: string, pin: string): Promise<ServerToolVersion | null>;
  };

  readonly credentials: {
    put(row: CredentialRow): Promise<void>;
    get(server: string, userId: string, name: string): Promise<CredentialRow | null>;
    list(server: string, userId: string): Promise<CredentialRow[]>;
    remove(server: string, userId: string, name: string): Promise<boolean>;
  };
}
