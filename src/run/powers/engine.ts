// A tool asks the engine as its own caller: it learns no more than the caller would.
import type { Call } from "../../call.ts";
import type { EnginePower, Explained } from "../../tools/powers.ts";

/** The part of the engine that tools reach; given late, since the engine runs the tools. */
export interface EngineSettings {
  explain(caller: Call["caller"], request: { name: string; arguments?: Call["arguments"] }): Promise<Explained | null>; // prettier-ignore
  explainPast(caller: Call["caller"], executionId: string): Promise<Explained | null>;
}

export const enginePower =
  (engine: () => EngineSettings) =>
  ({ caller }: Call): Pick<EnginePower, "explain"> => ({
    explain: (question) =>
      "executionId" in question
        ? engine().explainPast(caller, question.executionId)
        : engine().explain(caller, {
            name: question.tool,
            ...(question.arguments ? { arguments: question.arguments } : {}),
          }),
  });
