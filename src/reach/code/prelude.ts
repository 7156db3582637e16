// What a program has besides the language: call, tools.find, console, and a clock and random numbers that are the same
// when it is run again. Evaluated inside the interpreter.

/** Takes the functions that lead outside; returns the two functions that read what a program left behind. */
export const PRELUDE = `(function (hostCall, hostFind, hostPrint, hostNow, seed) {
  "use strict";
  const { parse, stringify } = JSON;
  const { defineProperty, freeze, assign } = Object;
  const { construct } = Reflect;
  const replace = (on, name, value) => defineProperty(on, name, { value, writable: true, configurable: true });
  const HostDate = Date;
  const ClockDate = function (...given) {
    if (new.target === undefined) return new HostDate(hostNow()).toString();
    return construct(HostDate, given.length === 0 ? [hostNow()] : given, new.target);
  };
  defineProperty(ClockDate, "name", { value: "Date" });
  defineProperty(ClockDate, "length", { value: 7 });
  defineProperty(ClockDate, "prototype", { value: HostDate.prototype, writable: false });
  replace(ClockDate, "now", () => hostNow());
  replace(ClockDate, "parse", HostDate.parse);
  replace(ClockDate, "UTC", HostDate.UTC);
  replace(HostDate.prototype, "constructor", ClockDate);
  replace(globalThis, "Date", ClockDate);
  let [a, b, c, d] = [0, 8, 16, 24].map((from) => parseInt(seed.slice(from, from + 8), 16) | 0);
  const bits = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 16; round++) bits();
  replace(Math, "random", () => ((bits() >>> 5) * 67108864 + (bits() >>> 6)) / 9007199254740992);
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
