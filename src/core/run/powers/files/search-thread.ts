// The thread that matches: a pattern may take long on a large file, and must not block the server.
import { parentPort } from "node:worker_threads";
import { PatternFault, textMatcher, type FoundInText, type Pattern } from "./search-matcher.ts";

export type ToThread =
  | { readonly kind: "pattern"; readonly query: Pattern }
  | { readonly kind: "texts"; readonly texts: readonly Uint8Array[]; readonly limit: number };

export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "invalid"; readonly message: string; readonly at: number }
  | { readonly kind: "found"; readonly found: readonly FoundInText[] };

function answering(): (message: ToThread) => FromThread {
  let matcher: ReturnType<typeof textMatcher> | null = null;
  const decoder = new TextDecoder();
  return (message) => {
    if (message.kind === "pattern") {
      try {
        matcher = textMatcher(message.query);
        return { kind: "ready" };
      } catch (cause) {
        if (cause instanceof PatternFault)
          return { kind: "invalid", message: cause.message, at: cause.at };
        throw cause;
      }
    }
    return {
      kind: "found",
      found: message.texts.map(
        (bytes) =>
          matcher?.(decoder.decode(bytes), message.limit) ?? { count: 0, matches: [], cut: false },
      ),
    };
  };
}

const answer = answering();
parentPort?.on("message", (message: ToThread) => parentPort?.postMessage(answer(message)));
