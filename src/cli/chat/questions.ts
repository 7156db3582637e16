// Questions that tools ask the person while a turn runs.
import { problemOf, type Api } from "../client/client.ts";
import { readEvents } from "../events.ts";
import { plainText } from "../output/plain.ts";

export interface Question {
  readonly id: string;
  readonly question: string;
  readonly context: string | null;
  readonly options: readonly string[] | null;
}

/** Each open question of the caller once, as it is asked, until the signal fires. */
export async function watchQuestions(
  api: Api,
  signal: AbortSignal,
  onQuestion: (question: Question) => void,
): Promise<void> {
  const seen = new Set<string>();
  const headers = { accept: "text/event-stream" };
  try {
    const response = await api.send("GET", "events", { headers, signal });
    if (!response.ok || !response.body)
      throw problemOf(response, await response.json().catch(() => null));
    for await (const { event } of readEvents(response.body)) {
      // What was asked before the stream was open is looked for once.
      if (event !== "open" && event !== "question.asked") continue;
      const { items } = await api.get<{ items: Question[] }>("questions", { state: "pending" });
      for (const question of items.toReversed()) {
        if (seen.has(question.id)) continue;
        seen.add(question.id);
        onQuestion(question);
      }
    }
  } catch (cause) {
    if (!signal.aborted) throw cause;
  }
}

export function questionLines({ question, context, options }: Question): string[] {
  return [
    ...(context === null ? [] : [`  ${plainText(context)}`]),
    `? ${plainText(question)}`,
    ...(options ?? []).map((option, at) => `  ${at + 1}. ${plainText(option)}`),
  ];
}

/** A number stands for its option. */
export function answerTo({ options }: Question, text: string): string {
  const at = /^\d{1,2}$/.test(text) && options && !options.includes(text) ? Number(text) : 0;
  return options?.[at - 1] ?? text;
}

export const answerQuestion = (api: Api, { id }: Question, answer: string | null) =>
  api.post(
    `questions/${encodeURIComponent(id)}/answer`,
    answer === null ? { decline: true } : { answer },
  );
