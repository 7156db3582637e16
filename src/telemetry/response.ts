// How many items a receiver rejected although it took the message: response { 1: partial_success { 1: rejected, 2: why
// } }, as protobuf or, from some receivers, as JSON.

const OPENING_BRACE = 0x7b;

export function rejectedIn(answer: Uint8Array): number {
  if (answer[0] === OPENING_BRACE) return rejectedInJson(Buffer.from(answer).toString("utf8"));
  // Only these two fields can stand at the start; anything else in an answer is no rejection.
  if (answer[0] !== 0x0a) return 0;
  const inner = varintAt(answer, 1);
  return answer[inner.end] === 0x08 ? varintAt(answer, inner.end + 1).value : 0;
}

function rejectedInJson(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}

function varintAt(
  bytes: Uint8Array,
  from: number,
): { readonly value: number; readonly end: number } {
  let [value, factor, at] = [0, 1, from];
  for (;;) {
    const byte = bytes[at++] ?? 0;
    value += (byte & 127) * factor;
    if (byte < 128) return { value, end: at };
    factor *= 128;
  }
}
