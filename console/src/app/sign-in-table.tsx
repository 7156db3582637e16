// Sign-ins to the console, and how one is ended.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, type Outputs } from "../api/client.ts";
import { useChange } from "../api/query.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { ConfirmButton } from "../ui/dialog.tsx";
import { Time } from "../ui/time.tsx";
import { notify } from "../ui/toast.tsx";
import { Badge } from "../ui/verdict.tsx";
import { useIsAdmin } from "./session.tsx";

type SignIn = Outputs["signIns"]["listSignIns"]["items"][number];

export function SignInTable({ rows }: { readonly rows: readonly SignIn[] }) {
  const end = useChange((id: string) => api.signIns.endSignIn.mutate({ id }), {
    refreshes: ["sign-ins"],
    onDone: ({ current }) => {
      if (current) window.location.assign("/");
      else notify("The sign-in is ended");
    },
  });
  const { mutate } = end;
  const isAdmin = useIsAdmin();
  const columns = useMemo(() => columnsWith(mutate, isAdmin), [mutate, isAdmin]);
  return <DataTable label="Sign-ins" rows={rows} columns={columns} rowId={({ id }) => id} />;
}

const columnsWith = (end: (id: string) => void, isAdmin: boolean): readonly Column<SignIn>[] => [
  {
    id: "user",
    header: "User",
    cell: ({ userId, current }) => (
      <span className="flex items-center gap-2">
        {userId} {current ? <Badge tone="info">this one</Badge> : null}
      </span>
    ),
  },
  {
    id: "key",
    header: "By key",
    width: "w-56",
    wideOnly: true,
    cell: ({ keyId }) =>
      keyId === null ? (
        "a login"
      ) : !isAdmin ? (
        <code>{keyId}</code>
      ) : (
        <Link to="/people" search={{ tab: "keys", id: keyId }}>
          <code>{keyId}</code>
        </Link>
      ),
  },
  {
    id: "since",
    header: "Since",
    width: "w-32",
    wideOnly: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  { id: "seen", header: "Last use", width: "w-28", cell: ({ seenAt }) => <Time at={seenAt} /> },
  {
    id: "ends",
    header: "Runs out",
    width: "w-44",
    wideOnly: true,
    cell: ({ endsAt }) => new Date(endsAt).toLocaleString(),
  },
  {
    id: "end",
    header: "Action",
    width: "w-24",
    cell: ({ id, userId, current }) => (
      <ConfirmButton
        small
        label="End"
        question={current ? "End your own sign-in?" : `End this sign-in of ${userId}?`}
        explain={
          current
            ? "You are signed out at once."
            : "Open pages of it stop working at once; signing in again needs a new link or the key."
        }
        confirm="End it"
        onConfirm={() => end(id)}
      />
    ),
  },
];
