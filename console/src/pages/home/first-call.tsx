// Turns from waiting to connected when the key is used, and to the first call when that arrives.
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Time } from "../../ui/time.tsx";
import type { Client } from "./client-steps.tsx";

const ASK_MS = 2_000;
/** So far back is looked for a call with this key. */
const LOOK_BACK = 50;

export function FirstCall({ client, keyId }: { readonly client: Client; readonly keyId: string }) {
  const calls = useData(
    ["executions", "of-key", keyId],
    async (signal) => {
      const asked = { userId: client.id, limit: LOOK_BACK };
      const { executions } = await api.tools.getToolHistory.query(asked, { signal });
      return executions.filter((one) => one.keyId === keyId).at(-1) ?? null;
    },
    { refetchMs: ASK_MS * 2 },
  );
  const first = calls.data ?? null;
  const key = useData(
    ["keys", keyId],
    (signal) => api.keys.getKey.query({ id: keyId }, { signal }),
    first === null ? { refetchMs: ASK_MS } : {},
  );
  const isUsed = typeof key.data?.lastUsedAt === "string";
  if (first !== null)
    return (
      <p role="status" className="rounded-md border border-ok/40 bg-ok-soft px-3 py-2">
        <strong className="text-ok">✓ Connected.</strong> First call{" "}
        <Link to="/executions/$id" params={{ id: first.id }} className="underline">
          {first.toolName}
        </Link>
        , <Time at={first.startTime} />.
      </p>
    );
  return (
    <p
      role="status"
      className="flex items-center gap-2 rounded-md border border-line bg-raised px-3 py-2"
    >
      <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-hold" />
      {isUsed
        ? `✓ ${client.title} has reached this server. Waiting for its first call …`
        : "Waiting for your first call …"}
    </p>
  );
}
