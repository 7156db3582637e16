// Small settings of one's own that programs read, as names with JSON values.
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { jsonText, visibleText } from "../../../ui/code.tsx";
import { TextField } from "../../../ui/field.tsx";
import { Form } from "../../../ui/form.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";

type Values = Inputs["account"]["updatePreferences"]["preferences"];

/** Undefined: it is no JSON. */
function parsed(text: string): Values[string] | undefined {
  try {
    return JSON.parse(text) as Values[string];
  } catch {
    // Shown beside the field.
    return undefined;
  }
}

export function Preferences() {
  const query = useData(["preferences"], (signal) =>
    api.account.getPreferences.query(undefined, { signal }),
  );
  const change = useChange(
    (preferences: Values) => api.account.updatePreferences.mutate({ preferences }),
    { refreshes: ["preferences"] },
  );
  const remove = (name: string, before: Values[string]): void =>
    change.mutate(
      { [name]: null },
      {
        onSuccess: () =>
          notify(`${name} is removed`, { undo: () => change.mutate({ [name]: before }) }),
      },
    );
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">
        Kept by the server for you; clients and agents of yours can read them. At most 16 KiB
        together.
      </p>
      <Loaded query={query}>
        {({ preferences }) => (
          <ul>
            {Object.entries(preferences).map(([name, value]) => (
              <li
                key={name}
                className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 py-1.5"
              >
                <span className="min-w-0">
                  <code className="font-medium">{visibleText(name)}</code>{" "}
                  <code className="text-muted">{visibleText(JSON.stringify(value))}</code>
                </span>
                <Button small aria-label={`Remove ${name}`} onClick={() => remove(name, value)}>
                  Remove
                </Button>
              </li>
            ))}
            {Object.keys(preferences).length === 0 ? (
              <li className="text-muted">None yet.</li>
            ) : null}
          </ul>
        )}
      </Loaded>
      <AddPreference
        busy={change.isPending}
        onAdd={(name, value) => change.mutate({ [name]: value })}
      />
    </div>
  );
}

function AddPreference({
  busy,
  onAdd,
}: {
  readonly busy: boolean;
  readonly onAdd: (name: string, value: Values[string]) => void;
}) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const value = parsed(text);
  return (
    <Form
      submit="Set"
      busy={busy}
      disabled={name.trim() === "" || value === undefined || value === null}
      onSubmit={() => {
        if (value === undefined) return;
        onAdd(name.trim(), value);
        setName("");
        setText("");
      }}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          placeholder="language"
          value={name}
          maxLength={128}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label="Value"
          placeholder={jsonText("en")}
          value={text}
          fault={
            text !== "" && value === undefined ? 'Expected JSON, e.g. "en", 7 or true' : undefined
          }
          hint={'JSON: "en", 7, true, ["a"]'}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
    </Form>
  );
}
