// Documents as text. The port behind it reads them inside the sandbox; here they are bound to the call.
import type { Call } from "../../../contract/call.ts";
import type { Documents } from "../../../reach/documents/documents.ts";
import type { DocumentsPower } from "../../../contract/powers/documents.ts";

export function documentsPower(documents: Documents) {
  return (_call: Call, signal: AbortSignal): DocumentsPower => ({
    read: (document) => documents.read({ ...document, mime: "", mainContentOnly: false }, signal),
  });
}
