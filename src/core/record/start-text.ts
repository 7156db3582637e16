// The text of a start event. One is made for every call, and half of it is the same for all calls of one caller to one tool:
// that half is made once. Everything goes through JSON.stringify, piece by piece.
import type { Call, Caller } from "../../contract/call.ts";
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
    const {
      argumentsCut,
      sessionId,
      metadata,
      idempotencyKey,
      approvalId,
      budget,
      reserved,
      mode,
    } = body;
    let text = `${headOf(call, body)},"status":"${body.status}","arguments":${JSON.stringify(body.arguments)},"startTime":${body.startTime},"timeout":${body.timeout}`;
    text += `,"traceId":${JSON.stringify(body.traceId)},"spanId":${JSON.stringify(body.spanId)},"gates":${JSON.stringify(body.gates)}`;
    if (budget !== undefined) text += `,"budget":${JSON.stringify(budget)}`;
    if (argumentsCut) text += `,"argumentsCut":${JSON.stringify(argumentsCut)}`;
    if (sessionId !== undefined) text += `,"sessionId":${JSON.stringify(sessionId)}`;
    if (metadata !== undefined) text += `,"metadata":${JSON.stringify(metadata)}`;
    if (idempotencyKey !== undefined) text += `,"idempotencyKey":${JSON.stringify(idempotencyKey)}`;
    if (approvalId !== undefined) text += `,"approvalId":${JSON.stringify(approvalId)}`;
    if (reserved !== undefined) text += `,"reserved":${reserved}`;
    if (mode !== undefined) text += `,"mode":${JSON.stringify(mode)}`;
    return `${text}}`;
  };
}

/** What the caller, the tool and the instance say, open at its end. Callers and tools are never changed, only replaced. */
function headText(body: WrittenStart): string {
  const {
    toolName,
    requestedName,
    category,
    userId,
    tenantId,
    capsuleId,
    keyId,
    toolVersion,
    toolPin,
    runner,
    entry,
    instanceId,
    roles,
  } = body;
  return JSON.stringify({
    toolName,
    requestedName,
    category,
    userId,
    tenantId,
    capsuleId,
    keyId,
    toolVersion,
    toolPin,
    runner,
    entry,
    instanceId,
    roles,
  }).slice(0, -1);
}
