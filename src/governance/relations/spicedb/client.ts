// The connection: one channel that reconnects by itself, and a deadline on every call.
import { v1 } from "@authzed/authzed-node";
import type { SpicedbAddress } from "./address.ts";

export interface SpicedbClient {
  check(request: v1.CheckBulkPermissionsRequest): Promise<v1.CheckBulkPermissionsResponse>;
  expand(request: v1.ExpandPermissionTreeRequest): Promise<v1.ExpandPermissionTreeResponse>;
  lookupResources(request: v1.LookupResourcesRequest): Promise<v1.LookupResourcesResponse[]>;
  lookupSubjects(request: v1.LookupSubjectsRequest): Promise<v1.LookupSubjectsResponse[]>;
  read(request: v1.ReadRelationshipsRequest): Promise<v1.ReadRelationshipsResponse[]>;
  /** The first two parts: the second only shows that there is more. */
  readAll(
    request: v1.ExportBulkRelationshipsRequest,
  ): Promise<v1.ExportBulkRelationshipsResponse[]>;
  write(request: v1.WriteRelationshipsRequest): Promise<v1.WriteRelationshipsResponse>;
  readSchema(): Promise<v1.ReadSchemaResponse>;
  writeSchema(request: v1.WriteSchemaRequest): Promise<v1.WriteSchemaResponse>;
  close(): void;
}

/** Below the gate's own limit, so that the gate gets the error of the engine. */
const CHECK_MS = 400;
const OTHER_MS = 5_000;

const CHANNEL = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // The key must not travel through a proxy that was meant for other things.
  "grpc.enable_http_proxy": 0,
  // Closing ours must not close the channel of another app in this process.
  "grpc.use_local_subchannel_pool": 1,
};

/** After this many calls in a row without any answer the connection counts as dead, whatever the system reports. */
const SILENT_CALLS = 3;
const DEADLINE_EXCEEDED = 4;

interface Options {
  readonly deadline: number;
}

type Server = ReturnType<typeof v1.NewClient>;

export function connectSpicedb({ target, token, tls }: SpicedbAddress): SpicedbClient {
  const { SECURE, INSECURE_PLAINTEXT_CREDENTIALS } = v1.ClientSecurity;
  const security = tls ? SECURE : INSECURE_PLAINTEXT_CREDENTIALS;
  const connect = (): Server => v1.NewClient(token, target, security, undefined, CHANNEL);
  let server = connect();
  let silent = 0;
  let closed = false;
  const once = async <A>(ms: number, send: Send<A>): Promise<A> => {
    const used = server;
    try {
      const answer = await one(ms, send);
      silent = 0;
      return answer;
    } catch (cause) {
      // Many that hang on the same dead connection must not end the new one.
      if (used !== server || closed) throw cause;
      silent = (cause as { code?: unknown }).code === DEADLINE_EXCEEDED ? silent + 1 : 0;
      if (silent >= SILENT_CALLS) {
        silent = 0;
        server = connect();
        used.close();
      }
      throw cause;
    }
  };
  return {
    check: (request) => once(CHECK_MS, (o, done) => server.checkBulkPermissions(request, o, done)),
    expand: (request) => once(OTHER_MS, (o, done) => server.expandPermissionTree(request, o, done)),
    lookupResources: (request) => all(server.lookupResources(request, within(OTHER_MS))),
    lookupSubjects: (request) => all(server.lookupSubjects(request, within(OTHER_MS))),
    read: (request) => all(server.readRelationships(request, within(OTHER_MS))),
    readAll: (request) => all(server.exportBulkRelationships(request, within(OTHER_MS)), 2),
    write: (request) => once(OTHER_MS, (o, done) => server.writeRelationships(request, o, done)),
    readSchema: () => once(OTHER_MS, (o, done) => server.readSchema({}, o, done)),
    writeSchema: (request) => once(OTHER_MS, (o, done) => server.writeSchema(request, o, done)),
    close() {
      closed = true;
      server.close();
    },
  };
}

const within = (ms: number): Options => ({ deadline: Date.now() + ms });

type Send<A> = (options: Options, done: (error: Error | null, answer?: A) => void) => unknown;

function one<A>(ms: number, send: Send<A>): Promise<A> {
  return new Promise((resolve, reject) => {
    send(within(ms), (error, answer) => {
      if (answer === undefined) reject(error ?? new Error("an empty answer"));
      else resolve(answer);
    });
  });
}

interface Parts<A> {
  on(event: "data", listener: (part: A) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  cancel(): void;
}

function all<A>(stream: Parts<A>, atMost = Infinity): Promise<A[]> {
  return new Promise((resolve, reject) => {
    const parts: A[] = [];
    stream.on("data", (part) => {
      if (parts.push(part) < atMost) return;
      resolve(parts);
      stream.cancel(); // its error comes after the answer and changes nothing
    });
    stream.on("error", reject);
    stream.on("end", () => resolve(parts));
  });
}
