// Questions to the client of a task: each key is used once per task, and the questions may be answered one by one.
import type { InputAnswers, InputQuestions, Json, JsonObject } from "../../../contract/call.ts";
import { isObject } from "../json-rpc.ts";

export class OpenQuestions {
  /** Indexed by the key that the client sees. */
  readonly #open: Map<string, { readonly key: string; readonly question: InputQuestions[string] }>;
  readonly #answers: Record<string, JsonObject> = {};

  /** `round`: rises with every set of questions; servers use the same keys again. */
  constructor(questions: InputQuestions, round: number) {
    this.#open = new Map(
      Object.entries(questions).map(([key, question]) => [`${round}.${key}`, { key, question }]),
    );
  }

  get questions(): InputQuestions {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, question]));
  }

  /** All answers once none is missing, else null. What answers no open question is ignored. */
  answer(given: Readonly<Record<string, Json>>): InputAnswers | null {
    for (const [shown, answer] of Object.entries(given)) {
      const asked = this.#open.get(shown);
      if (!asked || !isObject(answer)) continue;
      this.#open.delete(shown);
      this.#answers[asked.key] = answer;
    }
    return this.#open.size === 0 ? this.#answers : null;
  }
}
