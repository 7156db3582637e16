// The relation engine inside the process: relationships live in the store, all of them are also in memory, and a
// check never waits.
import { createHash } from "node:crypto";
import { AppError } from "../../../contract/errors.ts";
import { AlreadyExists, PreconditionFailed, type Store } from "../../../storage/store/store.ts";
import type { CheckRequest, CheckResult, Relations } from "../relation.ts";
import { isObjectId, relationshipText } from "../text.ts";
import { invalid } from "./fault.ts";
import {
  expandTree,
  findResources,
  findSubjects,
  checkPermission,
  readPage,
  type Snapshot,
} from "./lookup.ts";
import { compileSchema, type Schema } from "./schema.ts";
import { Tuples } from "./tuples.ts";
import * as validate from "./validate.ts";

export interface EmbeddedPowers {
  readonly store: Pick<Store, "tuples" | "shared">;
  readonly now: () => number;
  readonly schema: {
    /** The text in force; read at the start, and again when another instance changed something. */
    load(): Promise<string>;
    /** Makes a new text durable; absent when another part of the server does that. */
    save?(text: string): Promise<void>;
  };
  /** How instances learn of each other's changes; needed when the store is shared. */
  readonly follower?: {
    on(name: string, listener: () => void | Promise<void>): () => void;
    changed(name: string): void | Promise<void>;
    /** Throws when this instance may have missed a change. */
    assertFresh(): void;
  };
}

export async function openEmbeddedRelations(powers: EmbeddedPowers): Promise<Relations> {
  const engine = new EmbeddedRelations(powers);
  await engine.start();
  return engine;
}

const MAX_PAGE = 1_000;

class EmbeddedRelations implements Relations {
  readonly engine = "embedded";
  readonly #powers: EmbeddedPowers;
  readonly #listeners = new Set<() => void>();
  #schema: Schema = { text: "", types: new Map(), caveats: new Map() };
  /** The text that was last loaded. */
  #loaded = "";
  #tuples = new Tuples();
  /** Of the store. */
  #known = 0;
  #revision = "";
  /** The store may be newer than memory: no check is answered until both agree again. */
  #behind = false;
  #recovery: Promise<unknown> | null = null;
  /** Writes of this process and changes of others are handled one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #unfollow: (() => void) | undefined;

  constructor(powers: EmbeddedPowers) {
    this.#powers = powers;
  }

  async start(): Promise<void> {
    const { follower } = this.#powers;
    this.#unfollow = follower?.on("relations", () => this.#inTurn(() => this.#catchUp()));
    await this.#inTurn(async () => {
      this.#loaded = await this.#powers.schema.load();
      this.#schema = await compileSchema(this.#loaded);
      await this.#readAll();
      this.#changed();
    });
  }

  get revision(): string {
    return this.#revision;
  }

  check(request: CheckRequest): CheckResult {
    this.#assertFresh();
    const schema = this.#schema;
    const member = validate.knownMember(schema, request.resource.type, request.permission);
    const subject = validate.knownSubject(schema, request.subject);
    // No relationship can hold such an id; a wildcard would match it all the same.
    if (!isObjectId(request.resource.id) || !isObjectId(subject.id)) return { has: "no" };
    return checkPermission(this.#moment(), member, request.resource.id, subject, request.context);
  }

  checkMany(requests: readonly CheckRequest[]): readonly CheckResult[] {
    return requests.map((request) => this.check(request));
  }

  async lookupResources({
    type,
    permission,
    subject,
    context,
  }: Parameters<Relations["lookupResources"]>[0]) {
    this.#assertFresh();
    validate.requireId("the subject", subject);
    const member = validate.knownMember(this.#schema, type, permission);
    return findResources(
      this.#moment(),
      member,
      validate.knownSubject(this.#schema, subject),
      context,
    );
  }

  async lookupSubjects(request: Parameters<Relations["lookupSubjects"]>[0]) {
    this.#assertFresh();
    const { resource, permission, subjectType, subjectRelation = "", context } = request;
    validate.requireId("the resource", resource);
    const member = validate.knownMember(this.#schema, resource.type, permission);
    if (subjectRelation === "") validate.knownType(this.#schema, subjectType);
    else validate.knownMember(this.#schema, subjectType, subjectRelation);
    const wanted = { type: subjectType, relation: subjectRelation };
    return findSubjects(this.#moment(), member, resource.id, wanted, context);
  }

  expand(resource: { type: string; id: string }, permission: string) {
    this.#assertFresh();
    validate.requireId("the resource", resource);
    const member = validate.knownMember(this.#schema, resource.type, permission);
    return expandTree(this.#moment(), member, resource.id);
  }

  async read(filter: Parameters<Relations["read"]>[0], page: Parameters<Relations["read"]>[1]) {
    this.#assertFresh();
    validate.checkedFilter(this.#schema, filter);
    const limit = Math.min(page.limit, MAX_PAGE);
    if (!(limit >= 1)) throw invalid(`limit must be at least 1, got ${page.limit}`);
    const { items, next } = readPage(this.#moment(), filter, { ...page, limit });
    return { items: items.map(validate.relationshipOf), next };
  }

  async write(
    changes: Parameters<Relations["write"]>[0],
    preconditions: Parameters<Relations["write"]>[1] = [],
  ) {
    const revision = await this.#inTurn(async () => {
      const { store, now } = this.#powers;
      const rows = validate.checkedChanges(this.#schema, changes);
      const conditions = validate.checkedPreconditions(this.#schema, preconditions);
      await this.#recover();
      const at = now();
      const written = await store.tuples.write(rows, conditions, at).catch((cause: unknown) => {
        throw this.#refusal(cause);
      });
      if (store.shared) {
        await this.#catchUp();
      } else {
        for (const row of rows) this.#apply(row);
        this.#known = written;
        this.#tuples.sweep(at);
        this.#changed();
      }
      return this.#revision;
    });
    // Outside of the queue: the follower may be waiting for a turn in it to deliver a change.
    await this.#powers.follower?.changed("relations");
    return { revision };
  }

  async schema(): Promise<string> {
    return this.#schema.text;
  }

  async writeSchema(text: string) {
    const revision = await this.#inTurn(async () => {
      const schema = await compileSchema(text);
      this.#tuples.sweep(this.#powers.now());
      const orphan = validate.orphan(schema, this.#tuples.matching());
      if (orphan !== null)
        throw invalid(
          `the schema would not allow the relationship ${relationshipText(orphan)}`,
          "delete such relationships first, or keep what allows them",
        );
      await this.#powers.schema.save?.(text);
      this.#schema = schema;
      this.#changed();
      return this.#revision;
    });
    await this.#powers.follower?.changed("relations");
    return { revision };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async ping(): Promise<void> {
    this.#assertFresh();
    await this.#powers.store.tuples.since(this.#known);
  }

  async close(): Promise<void> {
    this.#unfollow?.();
    await this.#queue.catch(() => undefined);
  }

  #moment(): Snapshot {
    return { schema: this.#schema, tuples: this.#tuples, now: this.#powers.now() };
  }

  #assertFresh(): void {
    if (this.#powers.store.shared) this.#powers.follower?.assertFresh();
    if (!this.#behind) return;
    // The next request tries again, one at a time; until it succeeds requests are refused as UNAVAILABLE.
    if (this.#recovery === null)
      this.#recovery = this.#inTurn(() => this.#recover())
        .catch(() => undefined)
        .finally(() => (this.#recovery = null));
    throw new AppError(
      "UNAVAILABLE",
      "engine_unavailable",
      "the relationships in memory may be older than the store",
      {
        remedy: "the engine reads them again by itself; see /readyz",
        retryAfterSeconds: 1,
      },
    );
  }

  async #recover(): Promise<void> {
    if (!this.#behind) return;
    await this.#takeOver(null);
    this.#behind = false;
  }

  #inTurn<A>(work: () => Promise<A>): Promise<A> {
    const turn = this.#queue.then(work, work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #readAll(): Promise<void> {
    const { revision, tuples } = await this.#powers.store.tuples.all();
    const fresh = new Tuples();
    for (const tuple of tuples) fresh.put(tuple);
    this.#tuples = fresh;
    this.#known = revision;
  }

  async #catchUp(): Promise<void> {
    try {
      await this.#takeOver(await this.#powers.store.tuples.since(this.#known));
      this.#behind = false;
    } catch (cause) {
      this.#behind = true;
      throw cause;
    }
  }

  /** Takes over the changes of others, or (null) everything: relationships and the schema. */
  async #takeOver(news: Awaited<ReturnType<Store["tuples"]["since"]>>): Promise<void> {
    const text = await this.#powers.schema.load();
    // A text that was written here may be stored a little later, by another part of the server: only a newer text
    // replaces it.
    const schema = text === this.#loaded ? this.#schema : await compileSchema(text);
    if (news === null) await this.#readAll();
    else {
      for (const change of news.changes) this.#apply(change);
      this.#known = news.revision;
    }
    this.#loaded = text;
    this.#schema = schema;
    this.#tuples.sweep(this.#powers.now());
    this.#changed();
  }

  #apply({ operation, tuple }: { operation: string; tuple: Parameters<Tuples["put"]>[0] }): void {
    if (operation === "delete") this.#tuples.delete(tuple);
    else this.#tuples.put(tuple);
  }

  #changed(): void {
    const digest = createHash("sha256").update(this.#schema.text).digest("hex").slice(0, 12);
    this.#revision = `${this.#known}.${digest}`;
    for (const listener of this.#listeners) listener();
  }

  /** A refusal changed nothing. After any other error it is not known what the store holds. */
  #refusal(cause: unknown): unknown {
    if (cause instanceof AlreadyExists)
      return new AppError("CONFLICT", "already_exists", "the relationship exists already", {
        remedy: "use touch to write it either way",
        cause,
      });
    if (cause instanceof PreconditionFailed)
      return new AppError("CONFLICT", "stale", "a precondition does not hold", {
        remedy: "read again, then decide anew",
        cause,
      });
    this.#behind = true;
    return cause;
  }
}
