// Sessions, messages and turns as the API shows them.
import { z } from "zod";
import type { TurnView } from "../../../agents/chat/chat.ts";
import {
  TURN_STATUSES,
  type MessageRow,
  type SessionRow,
  type TurnStep,
} from "../../../storage/store/store.ts";
import type { Doors } from "../../doors.ts";
import { iso, isoOrNull, jsonObject, time } from "../shapes.ts";

const taintSource = z.object({
  tool: z.string(),
  executionId: z.string(),
  from: z.string().describe("Host, upstream server or path"),
});

export const sessionShape = z.object({
  id: z.string(),
  userId: z.string(),
  capsuleId: z.string(),
  personaId: z.string().nullable(),
  role: z.string().nullable(),
  title: z.string(),
  preferences: jsonObject,
  idleSeconds: z.int().describe("After so long without a message it must be opened again"),
  headId: z.string().nullable().describe("Newest message of the branch in use"),
  turnId: z.string().nullable().describe("The turn that runs or waits"),
  taint: z.array(taintSource).describe("Content from outside that the agent has read"),
  createdAt: time,
  lastSeenAt: time,
  expiresAt: time,
  endedAt: time.nullable(),
});

export const sessionView = (row: SessionRow): z.input<typeof sessionShape> => ({
  id: row.id,
  userId: row.userId,
  capsuleId: row.capsuleId,
  personaId: row.personaId,
  role: row.role,
  title: row.title,
  preferences: row.preferences,
  idleSeconds: row.idleSeconds,
  headId: row.headId,
  turnId: row.turnId,
  taint: [...row.taint],
  createdAt: iso(row.createdAt),
  lastSeenAt: iso(row.lastSeenAt),
  expiresAt: iso(row.lastSeenAt + row.idleSeconds * 1_000),
  endedAt: isoOrNull(row.endedAt),
});

export const messageShape = z.object({
  id: z.string(),
  sessionId: z.string(),
  parentId: z.string().nullable(),
  role: z.enum(["user", "assistant"]),
  text: z.string().describe("Secrets are masked"),
  assets: z.array(z.string()),
  turnId: z.string().nullable(),
  createdAt: time,
});

export const messageView = (row: MessageRow): z.input<typeof messageShape> => ({
  id: row.id,
  sessionId: row.sessionId,
  parentId: row.parentId,
  role: row.role,
  text: row.text,
  assets: [...row.assets],
  turnId: row.turnId,
  createdAt: iso(row.createdAt),
});

const toolCall = z.object({
  callId: z.string(),
  tool: z.string(),
  executionId: z.string().nullable().describe("Null: it never reached the engine"),
  status: z.enum(["pending", "success", "failed", "cancelled"]),
  reason: z.string().optional(),
  approval: z
    .object({ id: z.string(), url: z.string() })
    .optional()
    .describe("A person must agree, or has decided"),
});

export const turnShape = z.object({
  sessionId: z.string(),
  turnId: z.string(),
  userMessageId: z.string(),
  messageId: z.string().nullable().describe("The answer, once there is one"),
  status: z.enum(TURN_STATUSES),
  phase: z.string(),
  reply: z.string(),
  assets: z.array(z.string()).describe("Files of the answer; see GET /assets/{id}"),
  toolCalls: z.array(toolCall),
  questions: z
    .array(
      z.object({
        id: z.string(),
        question: z.string(),
        context: z.string().nullable(),
        options: z.array(z.string()).nullable(),
        expiresAt: time,
      }),
    )
    .describe("Wait for your answer: POST /questions/{id}/answer"),
  usage: z.object({
    input: z.int(),
    output: z.int(),
    cost: z.number().describe("US dollars by the configured prices"),
    rounds: z.int().describe("Answers of the model"),
  }),
  model: z.string().nullable().describe("The model that answered last; direct: none is set up"),
  error: z
    .object({
      code: z.string(),
      reason: z.string(),
      message: z.string(),
      remedy: z.string().optional(),
    })
    .optional(),
  traceId: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
});

export function turnView(
  { turn, state, reply, questions }: TurnView,
  { settings }: Pick<Doors, "settings">,
): z.input<typeof turnShape> {
  const answers = state.steps.filter((step) => step.kind === "model");
  const { error } = turn;
  return {
    sessionId: turn.sessionId,
    turnId: turn.id,
    userMessageId: turn.messageId,
    messageId: reply?.id ?? null,
    status: turn.status,
    phase: turn.phase,
    reply: reply?.text ?? "",
    assets: [...(reply?.assets ?? [])],
    toolCalls: toolCallsOf(state.steps, settings.baseUrl),
    questions: questions.map(({ id, question, context, options, expiresAt }) => ({
      id,
      question,
      context,
      options: options && [...options],
      expiresAt: iso(expiresAt),
    })),
    usage: {
      input: sum(answers.map(({ tokens }) => tokens.input)),
      output: sum(answers.map(({ tokens }) => tokens.output)),
      cost: sum(answers.map(({ cost }) => cost)),
      rounds: answers.length,
    },
    model: answers.at(-1)?.model ?? null,
    ...(error
      ? {
          error: {
            code: error.code,
            reason: error.reason,
            message: error.message,
            ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
          },
        }
      : {}),
    traceId: turn.trace.traceId,
    startedAt: iso(turn.startedAt),
    endedAt: isoOrNull(turn.endedAt),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const toolCallsOf = (steps: readonly TurnStep[], baseUrl: string): z.input<typeof toolCall>[] =>
  steps.flatMap((step) =>
    step.kind === "result"
      ? [
          {
            callId: step.callId,
            tool: step.tool,
            executionId: step.executionId,
            status: step.status,
            ...(step.reason === undefined ? {} : { reason: step.reason }),
            ...(step.approvalId === undefined
              ? {}
              : { approval: { id: step.approvalId, url: `${baseUrl}/a/${step.approvalId}` } }),
          },
        ]
      : [],
  );
