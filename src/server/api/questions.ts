// Questions that tools ask people: see them, answer or decline them. An answer is input for the call that asked, no
// approval.
import { z } from "zod";
import { QUESTION_STATES, type QuestionRow } from "../../storage/store/store.ts";
import { endpoint, fieldFault } from "./endpoint.ts";
import { iso, isoOrNull, time } from "./shapes.ts";

const question = z.object({
  id: z.string(),
  executionId: z.string(),
  userId: z.string().describe("Whom it is for"),
  question: z.string(),
  context: z.string().nullable(),
  options: z.array(z.string()).nullable().describe("The answers to choose from; null: any"),
  state: z.enum(QUESTION_STATES),
  answer: z.string().nullable(),
  answeredBy: z.string().nullable(),
  createdAt: time,
  expiresAt: time,
  presentedAt: time.nullable(),
  decidedAt: time.nullable(),
});

function view(row: QuestionRow): z.input<typeof question> {
  const { tenantId: _tenant, options, createdAt, expiresAt, presentedAt, decidedAt, ...rest } = row;
  return {
    ...rest,
    options: options && [...options],
    createdAt: iso(createdAt),
    expiresAt: iso(expiresAt),
    presentedAt: isoOrNull(presentedAt),
    decidedAt: isoOrNull(decidedAt),
  };
}

export const listQuestions = endpoint({
  name: "questions.listQuestions",
  method: "GET",
  path: "/questions",
  access: "caller",
  summary: "Questions for you, newest first; administrators see those of the tenant",
  input: z.strictObject({
    state: z.enum(QUESTION_STATES).optional(),
    limit: z.int().min(1).max(100).default(50),
  }),
  output: z.object({ items: z.array(question) }),
  async run({ state, limit }, { caller, doors }) {
    const rows = await doors.questions.list(caller, { limit, ...(state ? { state } : {}) });
    return { items: rows.map(view) };
  },
});

export const answerQuestion = endpoint({
  name: "questions.answerQuestion",
  method: "POST",
  path: "/questions/{id}/answer",
  access: "caller",
  summary: "Answer a question, or decline it; once, while it waits",
  input: z.strictObject({
    id: z.string().min(1).max(128),
    answer: z.string().min(1).max(8_000).optional(),
    decline: z.boolean().optional(),
  }),
  output: question,
  async run({ id, answer, decline = false }, { caller, doors }) {
    if ((answer === undefined) !== decline)
      throw fieldFault("/answer", "give an answer, or decline: true");
    return view(await doors.questions.decide(caller, id, answer ?? null));
  },
});
