// A tool called by hand, through the same gate, without a model.
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Editor } from "../../ui/editor/editor.tsx";
import { Select } from "../../ui/field.tsx";

export function DirectMode({
  isRunning,
  onSend,
}: {
  readonly isRunning: boolean;
  readonly onSend: (message: string) => void;
}) {
  const tools = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }));
  const [tool, setTool] = useState("system/echo");
  const [args, setArgs] = useState('{\n  "text": "hello"\n}');
  const names = tools.data?.tools.map(({ name }) => name) ?? [tool];
  const isJson = canParse(args);
  const send = (verb: "tool" | "explain"): void =>
    onSend(`/${verb} ${tool} ${JSON.stringify(JSON.parse(args))}`);
  return (
    <div className="flex flex-col gap-2">
      <Select
        label="Tool"
        value={tool}
        onChange={(event) => setTool(event.target.value)}
        options={names.map((name) => [name, name])}
      />
      <Editor
        label="Arguments as JSON"
        language="json"
        value={args}
        onChange={setArgs}
        onSubmit={() => {
          if (isJson && !isRunning) send("tool");
        }}
        className="h-28"
      />
      {isJson ? null : <p className="text-xs text-deny">The arguments are not valid JSON.</p>}
      <div className="flex justify-end gap-2">
        <Button disabled={!isJson || isRunning} onClick={() => send("explain")}>
          Ask the gate only
        </Button>
        <Button look="primary" disabled={!isJson || isRunning} onClick={() => send("tool")}>
          Call the tool
        </Button>
      </div>
    </div>
  );
}

function canParse(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
