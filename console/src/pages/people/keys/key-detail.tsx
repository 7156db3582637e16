// One key: its rights, its last use, and how it is replaced or ended.
import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { exactTime, Time } from "../../../ui/time.tsx";
import { RecordId } from "../record-id.tsx";
import { KeyActions } from "./key-actions.tsx";
import { type KeyRecord, KeyState, keyStateOf } from "./key-state.tsx";
import { RunningCalls } from "./running-calls.tsx";

export function KeyDetail({ id }: { readonly id: string }) {
  const query = useData(
    ["keys", "one", id],
    (signal) => api.keys.getKey.query({ id }, { signal }),
    { refetchMs: 15_000 },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {(key) => (
        <>
          <KeyFacts record={key} />
          {keyStateOf(key, Date.now()) === "active" ? <KeyActions record={key} /> : null}
          <RunningCalls record={key} />
        </>
      )}
    </Loaded>
  );
}

function KeyFacts({ record }: { readonly record: KeyRecord }) {
  const { id, name, userId, prefix, scopes, level, capsuleId, plan, limits } = record;
  const { createdAt, expiresAt, revokedAt, lastUsedAt } = record;
  return (
    <Facts
      rows={[
        ["Name", <strong key="name">{name}</strong>],
        ["State", <KeyState key="state" record={record} />],
        ["Id", <RecordId key="id" id={id} />],
        ["Begins with", <code key="prefix">{prefix}…</code>],
        [
          "User",
          <Link key="user" to="/people" search={{ tab: "users", id: userId }}>
            {userId}
          </Link>,
        ],
        [
          "Capsule",
          capsuleId === null ? (
            "the default one"
          ) : (
            <Link to="/people" search={{ tab: "capsules", id: capsuleId }}>
              {capsuleId}
            </Link>
          ),
        ],
        ["Level", level === null ? "as the user" : level.replaceAll("_", " ")],
        ["Scopes", scopes.length === 0 ? "none" : <code key="scopes">{scopes.join(" ")}</code>],
        ["Plan", plan ?? "none of its own"],
        ["Limits", limitText(limits)],
        ["Created", <Time key="created" at={createdAt} />],
        ["Last use", lastUsedAt === null ? "never" : <Time at={lastUsedAt} />],
        ["Expires", expiresAt === null ? "never" : exactTime(expiresAt)],
        ["Revoked", revokedAt === null ? null : exactTime(revokedAt)],
      ]}
    />
  );
}

function limitText(limits: KeyRecord["limits"]): string {
  if (limits === null) return "none of its own";
  const { perMinute, perHour, perDay } = limits;
  return [
    perMinute === undefined ? "" : `${perMinute} a minute`,
    perHour === undefined ? "" : `${perHour} an hour`,
    perDay === undefined ? "" : `${perDay} a day`,
  ]
    .filter((text) => text !== "")
    .join(", ");
}
