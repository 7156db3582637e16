// The text of a start event. One is made for every call, and half of it is the same for all calls of one caller to
// one tool: that half is made once. The fields and their order are those of `START_BODY`.
import type { Call, Caller } from "../../contract/call.ts";
import { startNames, type StartName } from "../../storage/store/body.ts";
import type { WrittenStart } from "../../storage/store/store.ts";

type Tool = NonNullable<Call["tool"]>;

interface Head {
  readonly requestedName: string;
  readonly entry: string;
  readonly text: string;
}

export type StartText = (call: Pick<Call, "caller" | "tool">, body: WrittenStart) => string;

export function createStartText(): StartText {
  const heads = new WeakMap<Caller, WeakMap<Tool, Head>>();

  function headOf({ caller, tool }: Pick<Call, "caller" | "tool">, body: WrittenStart): string {
    if (tool === null) return headText(body);
    let ofCaller = heads.get(caller);
    if (!ofCaller) heads.set(caller, (ofCaller = new WeakMap()));
    const known = ofCaller.get(tool);
    if (known?.requestedName === body.requestedName && known.entry === body.entry)
      return known.text;
    const { requestedName, entry } = body;
    const text = headText(body);
    ofCaller.set(tool, { requestedName, entry, text });
    return text;
  }

  return (call, body) => {
    let text = headOf(call, body);
    for (let i = 0; i < OWN.length; i++) {
      const { name, prefix } = OWN[i] as OwnField;
      const value = body[name];
      if (typeof value === "number") text += prefix + value;
      else if (value !== undefined) text += prefix + JSON.stringify(value);
    }
    return `${text}}`;
  };
}

interface OwnField {
  readonly name: StartName;
  readonly prefix: string;
}

/** Fields of the call itself, each with the text before its value. */
const OWN: readonly OwnField[] = [...startNames("always"), ...startNames("unusual")].map(
  (name) => ({ name, prefix: `,${JSON.stringify(name)}:` }),
);
const CACHED = startNames("cached");

/** The text of the cached fields, open at its end. Callers and tools are never changed, only replaced. */
function headText(body: WrittenStart): string {
  return JSON.stringify(Object.fromEntries(CACHED.map((name) => [name, body[name]]))).slice(0, -1);
}
