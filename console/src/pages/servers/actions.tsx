// What can be done with a server as a whole.
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { notify } from "../../ui/toast.tsx";
import type { Server, Tried } from "./types.ts";

const REFRESHES = ["servers", "tools", "capsules"];

/** Says what a new look at the server found. */
function tellLook({ server, fault, tools }: Tried): void {
  if (fault) {
    notify(`${server.name} could not be looked at`, {
      detail: [fault.message, fault.remedy].filter((part) => part).join(" · "),
    });
    return;
  }
  const waiting = tools.filter(({ state }) => state === "pending" || state === "changed").length;
  const offered = tools.filter(({ state }) => state !== "removed").length;
  notify(`${server.name} offers ${offered} ${offered === 1 ? "tool" : "tools"}`, {
    detail: waiting > 0 ? `${waiting} of them wait for your review` : "None waits for your review",
  });
}

export function ServerActions({ server }: { readonly server: Server }) {
  const { name, enabled, origin } = server;
  const navigate = useNavigate();
  const look = useChange(() => api.servers.lookAtServer.mutate({ name }), {
    refreshes: REFRESHES,
    onDone: tellLook,
  });
  const restart = useChange(() => api.servers.restartServer.mutate({ name }), {
    refreshes: REFRESHES,
    onDone: tellLook,
  });
  const power = useChange((on: boolean) => api.servers.updateServer.mutate({ name, enabled: on }), {
    refreshes: REFRESHES,
    onDone: (_made, on) =>
      notify(on ? `${name} is switched on` : `${name} is switched off`, {
        undo: () => power.mutate(!on),
      }),
  });
  const remove = useChange(() => api.servers.removeServer.mutate({ name }), {
    refreshes: REFRESHES,
    leave: () => navigate({ to: "/servers" }),
    onDone: () => notify(`${name} was removed`),
  });
  return (
    <>
      <Button disabled={!enabled} busy={look.isPending} onClick={() => look.mutate(undefined)}>
        Look again
      </Button>
      <Button
        disabled={!enabled}
        busy={restart.isPending}
        onClick={() => restart.mutate(undefined)}
      >
        Restart
      </Button>
      {origin === "configuration" ? (
        <p className="self-center text-muted">
          Written in the settings file: change or remove it there.
        </p>
      ) : (
        <>
          <Button busy={power.isPending} onClick={() => power.mutate(!enabled)}>
            {enabled ? "Switch off" : "Switch on"}
          </Button>
          <ConfirmButton
            label="Remove"
            question={`Remove ${name}?`}
            explain={
              <>
                Its tools disappear for everybody at once. Its credentials and everybody’s rights to
                its tools go with it, and capsules lose them. Calls in the ledger stay. This cannot
                be undone.
              </>
            }
            confirm={`Remove ${name}`}
            busy={remove.isPending}
            onConfirm={() => remove.mutate(undefined)}
          />
        </>
      )}
    </>
  );
}
