// External databases, by name. The name must be one that the operator gave to the caller's tenant.
import type { Call } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { DatabaseConnection, Databases, Limits } from "../../../reach/databases/database.ts";
import type { DatabasePower } from "../../../contract/powers/database.ts";
import { globMatcher } from "../../../util/files/glob.ts";
import { nearest } from "../../../util/text/nearest.ts";
import { quote } from "../../../util/text/quote.ts";

export interface DatabaseSettings {
  readonly databases: Databases;
}

export function databasePower({ databases }: DatabaseSettings) {
  return (call: Call, signal: AbortSignal): DatabasePower => {
    const { own, reading, writing } = connectionsOf(databases, call, signal);
    return {
      connections: () =>
        Promise.resolve(
          own.map((connection) => ({
            name: connection.name,
            kind: connection.database.kind,
            readOnly: connection.config.readOnly,
            default: connection === defaultOf(own),
          })),
        ),
      async query(sql, { connection, ...request }) {
        const target = reading(connection);
        return target.database.query({ sql, ...request }, target.limits);
      },
      async tables({ connection, schema = "public", pattern }) {
        const target = reading(connection);
        const tables = await target.database.tables(schema, target.limits);
        if (pattern === undefined) return tables;
        const fits = globMatcher(pattern);
        return tables.filter(({ name }) => fits(name));
      },
      async describe(table, { connection, schema = "public" }) {
        const target = reading(connection);
        return target.database.describe(table, schema, target.limits);
      },
      async insert(table, rows, { connection, ...options }) {
        const target = writing(connection);
        return target.database.insert({ table, rows, ...options }, target.limits);
      },
      async update(table, set, { connection, ...options }) {
        const target = writing(connection);
        const done = await target.database.change({ table, set, ...options }, target.limits);
        return { matched: done.matched, updated: done.changed };
      },
      async remove(table, { connection, ...options }) {
        const target = writing(connection);
        const done = await target.database.change({ table, ...options }, target.limits);
        return { matched: done.matched, deleted: done.changed };
      },
    };
  };
}

/** Those that a call may use; each throws where its caller may not. */
export function connectionsOf(databases: Databases, call: Call, signal: AbortSignal) {
  const own = databases.all.filter(
    ({ config }) => config.tenants?.includes(call.caller.tenantId) ?? true,
  );
  const reading = (name?: string) => {
    const connection = find(own, name);
    const { database, config } = connection;
    const limits: Limits = {
      signal,
      timeoutMs: Math.min(config.statementTimeoutMs, call.timeoutMs),
    };
    return { connection, database, limits };
  };
  const writing = (name?: string) => {
    const target = reading(name);
    if (target.connection.config.readOnly) throw readOnly(target.connection.name);
    return target;
  };
  return { own, reading, writing };
}

/** The one that is marked as default; a single one needs no mark. */
function defaultOf(own: readonly DatabaseConnection[]): DatabaseConnection | undefined {
  return own.find(({ config }) => config.default) ?? (own.length === 1 ? own[0] : undefined);
}

function find(own: readonly DatabaseConnection[], name?: string): DatabaseConnection {
  const found = name === undefined ? defaultOf(own) : own.find((one) => one.name === name);
  if (found) return found;
  const names = own.map((one) => one.name);
  const known =
    names.length === 0
      ? "the administrator must name one under databases"
      : `known: ${names.join(", ")}`;
  const near = name === undefined ? null : nearest(name, names);
  const message =
    name === undefined
      ? "no connection is the default one"
      : `there is no connection ${quote(name)}`;
  throw new AppError("EXECUTION_FAILED", "connection_unknown", message, {
    remedy: near === null ? `name a connection; ${known}` : `did you mean ${quote(near)}? ${known}`,
  });
}

function readOnly(name: string): AppError {
  return new AppError(
    "FORBIDDEN",
    "connection_read_only",
    `connection ${quote(name)} is read-only`,
    {
      remedy: "use a connection that may write, or ask the administrator to set readOnly: false",
    },
  );
}
