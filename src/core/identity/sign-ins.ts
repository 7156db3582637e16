// Sign-ins to the console: the links that start them, which are open, and their end.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { SignInRow } from "../../storage/store/store.ts";
import type { Identity, IdentityPowers } from "./index.ts";

/** A sign-in as people see it. */
export interface SignInView {
  readonly id: string;
  readonly userId: string;
  readonly keyId: string | null;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly endsAt: number;
  /** It is the one that asks. */
  readonly current: boolean;
}

type SignIns = Pick<
  Identity,
  "createLoginToken" | "redeemLoginToken" | "signOut" | "listSignIns" | "endSignIn"
>;

export function createSignIns(p: IdentityPowers): SignIns {
  return {
    async createLoginToken(caller) {
      assertPerson(caller);
      return p.sessions.createLoginToken(caller);
    },
    async redeemLoginToken(token) {
      const session = await p.sessions.redeemLoginToken(token);
      if (session) await p.onSignIn(session.signIn);
      return session;
    },
    async signOut(cookieHeader) {
      const ended = await p.sessions.signOut(cookieHeader);
      if (ended) await p.onSignInEnded(ended, ended.userId);
    },
    async listSignIns(caller, { userId, limit }) {
      const whose = caller.role === "admin" ? userId : caller.userId;
      if (caller.role !== "admin" && userId !== undefined && userId !== caller.userId) return [];
      const rows = await p.sessions.open(
        { tenantId: caller.tenantId, ...(whose === undefined ? {} : { userId: whose }) },
        limit,
      );
      const standing = await Promise.all(rows.map((row) => p.sessions.standsUntil(row)));
      return rows.flatMap((row, at) => (standing[at] ? [viewOf(row, standing[at], caller)] : []));
    },
    async endSignIn(caller, id) {
      const row = await p.store.signIns.get(id);
      const isTheirs = row?.userId === caller.userId || caller.role === "admin";
      if (row?.tenantId !== caller.tenantId || !isTheirs || row.endedAt !== null)
        throw noSignIn(id);
      if (!(await p.store.signIns.end(id, caller.userId, p.now()))) throw noSignIn(id);
      await p.onSignInEnded(row, caller.userId);
      return viewOf(row, p.now(), caller);
    },
  };
}

const PERSONAL_SCOPES = ["*", "tool:approve"];

/** A signed-in person decides approvals, so a key that was made for an agent opens no sign-in. */
function assertPerson({ via, role, scopes }: Caller): void {
  if (via !== "key" || role === "admin") return;
  if (scopes.some((scope) => PERSONAL_SCOPES.includes(scope))) return;
  throw new AppError(
    "FORBIDDEN",
    "scope_missing",
    "This key was made for an agent and signs nobody in",
    {
      remedy:
        "use a key with scope tool:approve (ostiary keys create <name> --user <id> --scope tool:approve)",
    },
  );
}

function viewOf(row: SignInRow, endsAt: number, { signIn }: Caller): SignInView {
  const { id, userId, keyId, createdAt, seenAt } = row;
  return { id, userId, keyId, createdAt, seenAt, endsAt, current: signIn?.id === id };
}

const noSignIn = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Sign-in '${id}' not found`, {
    remedy: "list those that are open: ostiary sign-ins list",
  });
