// The question: who calls which tool with what, and under which circumstances.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { ArgumentsEditor } from "../../ui/arguments/arguments-editor.tsx";
import { argumentsText, parseArguments } from "../../ui/arguments/parse.ts";
import { Button } from "../../ui/button.tsx";
import { CallerSelect } from "../../ui/caller-select.tsx";
import { Select, TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { type ExplainSearch, MODES } from "./search.ts";

export function Question({ search }: { readonly search: ExplainSearch }) {
  const navigate = useNavigate({ from: "/explain" });
  const [tool, setTool] = useState(search.tool ?? "");
  const [text, setText] = useState(argumentsText(search.arguments ?? {}));
  const [as, setAs] = useState(search.as ?? "");
  const [mode, setMode] = useState<string>(search.mode ?? "");
  const [at, setAt] = useState(localTime(search.at));
  const [taint, setTaint] = useState((search.taint ?? []).join(", "));
  const tools = useTools();
  const schema = tools.find(({ name }) => name === tool)?.inputSchema;
  const { value, fault } = parseArguments(text);
  const ask = (): void => {
    if (tool.trim() === "" || value === undefined) return;
    const sources = taint
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
    void navigate({
      search: {
        tool: tool.trim(),
        arguments: Object.keys(value).length > 0 ? value : undefined,
        as: as || undefined,
        mode: MODES.find((one) => one === mode),
        at: at === "" ? undefined : new Date(at).toISOString(),
        taint: sources.length > 0 ? sources : undefined,
      },
    });
  };
  return (
    <Card title="The question">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <CallerSelect label="Who calls" value={as} onChange={setAs} />
        <TextField
          label="Tool"
          required
          list="explain-tools"
          placeholder="file/write"
          value={tool}
          onChange={(event) => setTool(event.target.value)}
        />
        <datalist id="explain-tools">
          {tools.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <details open={search.arguments !== undefined || schema !== undefined}>
          <summary className="min-h-6 text-[13px] font-medium">Arguments</summary>
          <div className="pt-2">
            <ArgumentsEditor schema={schema} text={text} onChange={setText} onSubmit={ask} />
          </div>
        </details>
        <details
          open={search.mode !== undefined || search.at !== undefined || search.taint !== undefined}
        >
          <summary className="min-h-6 text-[13px] font-medium">Suppose that …</summary>
          <div className="flex flex-col gap-3 pt-2">
            <Select
              label="the mode were"
              value={mode}
              onChange={(event) => setMode(event.target.value)}
              options={[["", "as it is"], ...MODES.map((name) => [name, name] as const)]}
            />
            <TextField
              label="policies were asked at"
              type="datetime-local"
              value={at}
              onChange={(event) => setAt(event.target.value)}
              hint="Empty: now. Relationships are those of now."
            />
            <TextField
              label="the caller had read content from"
              value={taint}
              placeholder="example.com, notes.md"
              onChange={(event) => setTaint(event.target.value)}
              hint="Hosts, servers or files outside, with commas between"
            />
          </div>
        </details>
        <div>
          <Button type="submit" look="primary" disabled={tool.trim() === "" || fault !== undefined}>
            Explain
          </Button>
        </div>
      </form>
    </Card>
  );
}

function useTools() {
  const query = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }));
  return query.data?.tools ?? [];
}

/** As the field wants it: without a zone, in that of the browser. */
function localTime(at: string | undefined): string {
  if (at === undefined || Number.isNaN(Date.parse(at))) return "";
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
