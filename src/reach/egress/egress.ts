// The egress guard: the one way out. Every outbound request of tools, browser, discovery and webhooks passes it.
import type { Duplex } from "node:stream";

/** On whose behalf a request is made, and which rules apply. */
export interface EgressSubject {
  /** Governance of the tool (or of the feature) that asks. */
  readonly rules: EgressRules;
  readonly signal: AbortSignal;
  /** Called with every host that was reached, for the record. */
  readonly onHost?: (host: string) => void;
}

export interface EgressRules {
  readonly schemes: readonly string[];
  readonly ports: readonly number[];
  /** none, list, ask_new and public as in governance; what the gate has let through counts as allowed by `judged`. */
  readonly policy: "none" | "list" | "ask_new" | "public";
  isBlocked(host: string): boolean;
  isAllowed(host: string): boolean;
  /** Exact `host:port` of private hosts that an operator named. */
  isExcepted(host: string, port: number): boolean;
  /** Hosts that the gate allowed for this call: under ask_new a person may have agreed to them. */
  readonly judged: ReadonlySet<string>;
  /** Where a rule is written, for messages. */
  readonly ruleOf?: (what: "schemes" | "ports" | "policy" | "blocked", host: string) => RuleSource;
}

export interface RuleSource {
  /** `tools.yaml:14`. */
  readonly at: string;
  readonly text: string;
}

/** A target that may be connected to: the name for Host and SNI, the address that was checked. */
export interface CheckedTarget {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  /** Every resolved address; all have passed. */
  readonly addresses: readonly string[];
}

export interface EgressRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly maxRedirects: number;
  /** manual: a redirect is returned as the response. */
  readonly redirect?: "follow" | "manual";
  /** After decompression. */
  readonly maxBytes: number;
  /** Headers for this origin only: dropped when a redirect leaves it. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Until the head of the answer is there, where the usual time does not do. */
  readonly headersMs?: number | undefined;
  /** From here on the server may have the request. */
  readonly onSent?: (() => void) | undefined;
}

export interface EgressResponse {
  readonly status: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly redirects: readonly string[];
  /** Decompressed, ends at `maxBytes`: then `truncated()` is true. */
  readonly body: AsyncIterable<Uint8Array>;
  truncated(): boolean;
}

export interface Egress {
  /** FORBIDDEN / egress_blocked, or EXECUTION_FAILED / dns_failed; says which rule. */
  check(url: string, subject: EgressSubject): Promise<CheckedTarget>;
  request(request: EgressRequest, subject: EgressSubject): Promise<EgressResponse>;
  /** An HTTP proxy (absolute form and CONNECT) spoken on one connection, for what runs in a sandbox. */
  serve(connection: Duplex, subject: EgressSubject): void;
  /** Reused connections to a server that an administrator named; `rulesOf` returns the rules for a URL. */
  pooled(rulesOf: (url: URL) => EgressRules): Promise<Pooled>;
  close(): Promise<void>;
}

export interface PooledRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Further headers. A list that many requests share is validated once; it must never change. */
  readonly common?: readonly string[] | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** Until the head of the answer is there, and without a byte after it; absent: the sender limits the time. */
  readonly headersMs?: number | undefined;
  readonly idleMs?: number | undefined;
}

/** Receives one response, in this order; `failed` may come at any time and is the last call. */
export interface PooledSink {
  /** From here on the server may have the request. */
  readonly started?: (() => void) | undefined;
  head(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /** The buffer is reused after the call: copy what is needed later. */
  data(chunk: Uint8Array): void;
  end(): void;
  failed(cause: unknown): void;
}

export interface PooledFlow {
  /** Nothing more is called, and the connection is closed. */
  abort(): void;
  pause(): void;
  resume(): void;
}

export interface PooledFetchOptions {
  /** Of the body; 1 MiB by default. */
  readonly maxBytes?: number | undefined;
  readonly headersMs?: number | undefined;
  readonly idleMs?: number | undefined;
  /** From here on the server may have the request. */
  readonly onSent?: (() => void) | undefined;
}

export interface Pooled {
  send(request: PooledRequest, sink: PooledSink): PooledFlow;
  /** Follows no redirects; a body is text or bytes. */
  fetch(url: string | URL, init?: RequestInit, options?: PooledFetchOptions): Promise<Response>;
  close(): Promise<void>;
}
