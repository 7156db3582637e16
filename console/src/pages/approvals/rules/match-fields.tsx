// Which arguments a standing rule looks at: each one exactly, by a pattern, or not at all.
import { useState } from "react";
import { visibleText } from "../../../ui/code.tsx";
import { Select, TextField } from "../../../ui/field.tsx";
import { type Approval, argumentsOf } from "../approval.ts";
import type { Matches } from "./scope-choice.tsx";

const MAX_FIELDS = 50;

interface Choice {
  readonly how: "equals" | "glob" | "any";
  readonly glob: string;
}

export function MatchFields({
  row,
  onChange,
}: {
  readonly row: Approval;
  readonly onChange: (matches: Matches) => void;
}) {
  const fields = Object.entries(argumentsOf(row)).slice(0, MAX_FIELDS);
  const [choices, setChoices] = useState<ReadonlyMap<string, Choice>>(new Map());
  const choiceOf = (name: string, value: unknown): Choice =>
    choices.get(name) ?? { how: "any", glob: typeof value === "string" ? value : "" };
  const choose = (name: string, choice: Choice): void => {
    const next = new Map(choices).set(name, choice);
    setChoices(next);
    onChange(
      fields.flatMap<Matches[number]>(([field, value]) => {
        const { how, glob } = next.get(field) ?? { how: "any", glob: "" };
        const pointer = `/${field.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        if (how === "equals") return [{ pointer, equals: value }];
        return how === "glob" ? [{ pointer, glob }] : [];
      }),
    );
  };
  return (
    <ul className="flex flex-col gap-2">
      {fields.map(([name, value]) => {
        const choice = choiceOf(name, value);
        const shown = typeof value === "string" ? value : JSON.stringify(value);
        return (
          <li key={name} className="grid items-end gap-2 sm:grid-cols-[12rem_1fr]">
            <Select
              label={visibleText(name)}
              value={choice.how}
              options={[
                ["any", "may be anything"],
                ["equals", "is the same"],
                ...(typeof value === "string" ? [["glob", "fits a pattern"] as const] : []),
              ]}
              onChange={({ target }) =>
                choose(name, { ...choice, how: target.value as Choice["how"] })
              }
            />
            {choice.how === "glob" ? (
              <TextField
                label={`Pattern for ${visibleText(name)}`}
                hideLabel
                value={choice.glob}
                onChange={({ target }) => choose(name, { ...choice, glob: target.value })}
              />
            ) : (
              <code className="truncate pb-2 text-muted">
                {choice.how === "equals" ? visibleText(shown) : ""}
              </code>
            )}
          </li>
        );
      })}
    </ul>
  );
}
