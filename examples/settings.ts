// Where Ostiary is, and the key of the agent: `ostiary keys create` makes one.
export const url: string = process.env["OSTIARY_URL"] ?? "http://127.0.0.1:3100";
export const apiKey: string = process.env["OSTIARY_KEY"] ?? "";
if (apiKey === "") throw new Error("Set OSTIARY_KEY to an API key of Ostiary.");
