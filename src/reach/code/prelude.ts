// What a program finds in its world besides the language: call, tools.find, console. Evaluated inside the interpreter.

/** A function of the three functions outside; answers the two that read what a program left behind. */
export const PRELUDE = `(function (hostCall, hostFind, hostPrint) {
  "use strict";
  const { parse, stringify } = JSON;
  const { defineProperty, freeze, assign } = Object;
  class ToolError extends Error {}
  defineProperty(ToolError.prototype, "name", { value: "ToolError" });
  const answer = (text) => {
    const { fault, value } = parse(text);
    if (fault) throw assign(new ToolError(fault.message), fault);
    return value;
  };
  const show = (item) => {
    if (typeof item === "string") return item;
    if (item instanceof Error) return item.name + ": " + item.message;
    try {
      return stringify(item) ?? String(item);
    } catch {
      return String(item);
    }
  };
  const print = (...items) => hostPrint(items.map(show).join(" "));
  const define = (name, value) => defineProperty(globalThis, name, { value });
  define("call", async (name, given) => answer(await hostCall(String(name), stringify(given === undefined ? {} : given))));
  define("tools", freeze({ find: async (query, options) => answer(await hostFind(String(query ?? ""), stringify(options ?? {}))) }));
  define("console", freeze({ log: print, info: print, warn: print, error: print, debug: print }));
  return [
    (value) => stringify(value === undefined ? null : value) ?? "null",
    (thrown) => {
      if (!(thrown instanceof Error)) return show(thrown);
      const line = /code\\.js:(\\d+)/.exec(thrown.stack ?? "")?.[1];
      return thrown.name + ": " + thrown.message + (line === undefined ? "" : " (line " + line + ")");
    },
  ];
})`;
