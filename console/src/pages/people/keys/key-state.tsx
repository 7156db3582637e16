import type { Outputs } from "../../../api/client.ts";
import { Badge } from "../../../ui/verdict.tsx";

export type KeyRecord = Outputs["keys"]["getKey"];

export type KeyStateName = "active" | "expired" | "revoked";

export function keyStateOf({ revokedAt, expiresAt }: KeyRecord, now: number): KeyStateName {
  if (revokedAt !== null && Date.parse(revokedAt) <= now) return "revoked";
  return expiresAt !== null && Date.parse(expiresAt) <= now ? "expired" : "active";
}

export function KeyState({ record }: { readonly record: KeyRecord }) {
  const state = keyStateOf(record, Date.now());
  if (state === "revoked")
    return (
      <Badge tone="deny" sign="⛔">
        revoked
      </Badge>
    );
  return state === "expired" ? (
    <Badge sign="○">expired</Badge>
  ) : (
    <Badge tone="ok" sign="✓">
      active
    </Badge>
  );
}
