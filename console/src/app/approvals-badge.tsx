// How many calls wait for this person, and a word when a new one arrives.
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { api } from "../api/client.ts";
import { type LiveEvent, useLive } from "../api/live.ts";
import { useData } from "../api/query.ts";
import { useSession } from "./session.tsx";

/** Those that wait, newest first; shared by badge, home and inbox. */
export const useWaiting = () =>
  useData(
    ["approvals", "waiting"],
    (signal) => api.approvals.listApprovals.query({ state: "pending", limit: 100 }, { signal }),
    { refetchMs: 30_000 },
  );

export function WaitingCount() {
  const { data } = useWaiting();
  const count = data?.items.filter(({ mayDecide }) => mayDecide).length ?? 0;
  if (count === 0) return null;
  return (
    <span className="ml-auto rounded-full bg-hold-soft px-1.5 text-xs font-semibold text-hold">
      {count}
      <span className="sr-only"> waiting for your decision</span>
    </span>
  );
}

const OFF = "ostiary.notifications-off";

/** Allowed by the browser, and wanted here. */
export const notificationsOn = (): boolean =>
  globalThis.Notification?.permission === "granted" && localStorage.getItem(OFF) !== "true";

export const switchNotifications = (on: boolean): void => localStorage.setItem(OFF, String(!on));

/** Read out once, and shown by the system where the person allowed that (Approvals). */
export function ApprovalAnnouncer() {
  const { userId } = useSession();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const hear = useCallback(
    ({ name, data }: LiveEvent) => {
      if (name !== "approval.requested" || data["requester"] === userId) return;
      const words = `${String(data["requester"])} asks to run ${String(data["toolName"])}`;
      setText(words);
      if (!document.hidden || !notificationsOn()) return;
      const id = String(data["approvalId"]);
      const shown = new Notification("Approval waiting", { body: words, tag: id });
      shown.onclick = () => {
        window.focus();
        shown.close();
        void navigate({ to: "/approvals/$id", params: { id } });
      };
    },
    [navigate, userId],
  );
  useLive(hear);
  return (
    <p role="alert" className="sr-only">
      {text}
    </p>
  );
}
