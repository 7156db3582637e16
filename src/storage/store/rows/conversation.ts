// Conversations: sessions, their messages as a tree, the turns that answer them, and files that models made.
// Every read names tenant and user: what belongs to others is absent.
import type { JsonObject, Mandate, Trace } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { TaintSource } from "../../../contract/taint.ts";

/** Binds a user to a capsule and a persona: what all of them allow, and never more. */
export interface SessionRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly capsuleId: string;
  readonly personaId: string | null;
  /** One of the user's roles; the session then has only this one. */
  readonly role: string | null;
  readonly title: string;
  readonly preferences: JsonObject;
  readonly idleSeconds: number;
  /** The newest message of the branch in use. */
  readonly headId: string | null;
  /** The turn that runs or waits; a session has one at a time. */
  readonly turnId: string | null;
  /** Where content from outside came from; empty: there is none in the conversation. */
  readonly taint: readonly TaintSource[];
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly endedAt: number | null;
}

export interface MessageRow {
  readonly id: string;
  readonly tenantId: string;
  readonly sessionId: string;
  /** The message it answers or follows; null at the beginning. */
  readonly parentId: string | null;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Ids of assets shown with it. */
  readonly assets: readonly string[];
  readonly turnId: string | null;
  readonly createdAt: number;
}

export const TURN_STATUSES = ["running", "waiting", "success", "failed", "stopped"] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

/** What happened in a turn, in order: enough to continue it on any instance. */
export type TurnStep =
  | { readonly kind: "note"; readonly text: string }
  | {
      readonly kind: "model";
      readonly model: string;
      readonly text: string;
      readonly calls: readonly TurnCall[];
      /** Pictures that came with it. */
      readonly assets?: readonly string[];
      readonly tokens: { readonly input: number; readonly output: number };
      readonly cost: number;
      readonly at: number;
    }
  | TurnResult;

export interface TurnCall {
  readonly id: string;
  /** As the model wrote it. */
  readonly name: string;
  readonly arguments: JsonObject;
  /** Arguments that were no JSON object, as text. */
  readonly unreadable?: string;
}

export interface TurnResult {
  readonly kind: "result";
  readonly callId: string;
  readonly tool: string;
  /** Null: the call never reached the engine. */
  readonly executionId: string | null;
  readonly status: "pending" | "success" | "failed" | "cancelled";
  /** What the model reads. Empty while the call waits. */
  readonly content: string;
  readonly reason?: string;
  readonly approvalId?: string;
  /** Files that the tool made for the person. */
  readonly assets?: readonly string[];
  readonly at: number;
}

export interface TurnRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly messageId: string;
  readonly replyId: string | null;
  readonly status: TurnStatus;
  readonly phase: string;
  /** The model that was asked for; null: the capsule's choice. */
  readonly model: string | null;
  /** Its messages and calls, as JSON that only this installation can read. */
  readonly sealed: string;
  readonly error: Fault | null;
  readonly mandate: Mandate;
  readonly trace: Trace;
  readonly ip: string | null;
  /** Milliseconds of work so far; waiting for a person does not count. */
  readonly workedMs: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly stopRequestedAt: number | null;
  readonly instanceId: string;
  /** Rises with each take-over; an instance writes only under its own number. */
  readonly lease: number;
  readonly leasedUntil: number;
}

export type TurnChange = Partial<
  Pick<
    TurnRow,
    "status" | "phase" | "sealed" | "error" | "replyId" | "workedMs" | "endedAt" | "leasedUntil"
  >
>;

export interface AssetRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string | null;
  readonly executionId: string | null;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
  readonly createdAt: number;
}

export interface ConversationOwner {
  readonly tenantId: string;
  readonly userId: string;
}

/** Without a user: an administrator, who sees those of the whole tenant. */
export interface AssetReader {
  readonly tenantId: string;
  readonly userId?: string;
}

export interface ConversationStore {
  readonly sessions: {
    create(row: SessionRow): Promise<void>;
    get(owner: ConversationOwner, id: string): Promise<SessionRow | null>;
    /** Newest use first; `search` is part of the title or of a message. */
    list(
      owner: ConversationOwner,
      filter: { search: string; includeEnded: boolean },
      page: { limit: number; before?: { lastSeenAt: number; id: string } },
    ): Promise<SessionRow[]>;
    update(
      id: string,
      change: Partial<
        Pick<
          SessionRow,
          "title" | "preferences" | "headId" | "taint" | "lastSeenAt" | "endedAt" | "idleSeconds"
        >
      >,
    ): Promise<void>;
    /** With its messages, turns and assets. */
    remove(owner: ConversationOwner, id: string): Promise<boolean>;
  };

  readonly messages: {
    get(sessionId: string, id: string): Promise<MessageRow | null>;
    /** All of a session, oldest first: the tree. */
    list(sessionId: string, limit: number): Promise<MessageRow[]>;
    /** Messages with this text, newest first. */
    search(
      owner: ConversationOwner,
      text: string,
      limit: number,
    ): Promise<(MessageRow & { readonly title: string })[]>;
  };

  readonly turns: {
    /**
     * Begins a turn together with its message (absent: an earlier message is answered again), in one step. False when
     * another turn of the session is open.
     */
    begin(row: TurnRow, message: MessageRow | null): Promise<boolean>;
    get(owner: ConversationOwner, id: string): Promise<TurnRow | null>;
    list(sessionId: string, ids: readonly string[]): Promise<TurnRow[]>;
    /** Writes under this lease; false when the turn has ended or another instance has taken it over. */
    save(id: string, lease: number, change: TurnChange): Promise<boolean>;
    /** Keeps the lease; answers whether a stop was requested, null when it is lost or the turn has ended. */
    renew(id: string, lease: number, until: number): Promise<{ readonly stop: boolean } | null>;
    /** The end: reply, head of the session and status in one step. False as with `save`. */
    end(
      id: string,
      lease: number,
      change: TurnChange & { readonly endedAt: number },
      reply: MessageRow | null,
    ): Promise<boolean>;
    /** Asks the instance that works on it to stop; false when it has ended. */
    requestStop(id: string, at: number): Promise<boolean>;
    /** Open turns that nobody holds: their lease ran out, or they were `instanceId`'s own before it started. */
    free(now: number, limit: number): Promise<TurnRow[]>;
    /** Takes one over; null when another instance was quicker or it has ended. */
    take(id: string, lease: number, instanceId: string, until: number): Promise<TurnRow | null>;
    /** Lets go of all turns of this instance, so that the next start takes them at once. */
    letGo(instanceId: string): Promise<number>;
  };

  readonly assets: {
    /** False, and nothing is kept, when its owner would then have more than `mostBytes`. */
    put(row: AssetRow, bytes: Uint8Array, mostBytes: number): Promise<boolean>;
    get(reader: AssetReader, id: string): Promise<AssetRow | null>;
    bytes(id: string): Promise<Uint8Array | null>;
    list(
      reader: AssetReader,
      page: { limit: number; after?: string; sessionId?: string },
    ): Promise<AssetRow[]>;
    remove(reader: AssetReader, id: string): Promise<boolean>;
    /** Bytes that the owner has in all. */
    used(owner: ConversationOwner): Promise<number>;
  };
}
