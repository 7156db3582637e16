// Sessions and messages as lists show them, for `ostiary sessions` and inside a conversation.
import { writeFileSync } from "node:fs";
import { problemOf, type Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { plainText } from "../output/plain.ts";
import { short } from "../output/render.ts";
import { sessionPath, type Message, type Session } from "./turn.ts";

export const sessionRow = (session: Session): string[] => [
  session.id,
  session.lastSeenAt,
  stateOf(session),
  short(plainText(session.title), 60),
];

export function stateOf({ turnId, endedAt, expiresAt }: Session): string {
  if (endedAt !== null) return "ended";
  if (turnId !== null) return "answering";
  return Date.parse(expiresAt) < Date.now() ? "idle" : "open";
}

export const messageLines = ({ role, text }: Message): string[] => [
  `${role === "user" ? "you" : "agent"}: ${plainText(text)}`,
];

type Found = Message & { title: string };

export const findMessages = (api: Api, text: string, limit: string) =>
  api.get<{ items: Found[] }>("messages", { search: text, limit });

export const foundRow = ({ sessionId, createdAt, role, title, text }: Found): string[] => [
  sessionId,
  createdAt,
  role === "user" ? "you" : "agent",
  short(plainText(title), 24),
  short(plainText(text), 80),
];

/** The conversation as the server writes it. */
export async function exported(api: Api, id: string, format: string): Promise<string> {
  const query = { format };
  const response = await api.send("GET", `${sessionPath(id)}/export`, {
    query,
    headers: { accept: "*/*" },
  });
  if (!response.ok) throw problemOf(response, await response.json().catch(() => null));
  return response.text();
}

/** Never over a file that is there. */
export function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw usage(
      code === "EEXIST" ? `${file} is there already` : `${file}: ${message}`,
      "name another file",
    );
  }
}
