// The caller's own preferences: small settings that programs of theirs read.
import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { endpoint } from "./endpoint.ts";

const preferences = z.record(z.string().min(1).max(128), z.json());
type Preferences = z.output<typeof preferences>;

export const getPreferences = endpoint({
  name: "account.getPreferences",
  method: "GET",
  path: "/account/preferences",
  access: "caller",
  summary: "The caller's own preferences",
  input: z.strictObject({}),
  output: z.object({ preferences }),
  run: async (_input, { caller, doors }) => ({
    preferences: (await doors.directory.getPreferences(caller)) as Preferences,
  }),
});

export const updatePreferences = endpoint({
  name: "account.updatePreferences",
  method: "PATCH",
  path: "/account/preferences",
  access: "caller",
  summary: "Change the caller's own preferences: named fields are replaced, null takes one away",
  input: z.strictObject({ preferences }),
  output: z.object({ preferences }),
  run: async (input, { caller, doors }) => ({
    preferences: (await doors.directory.updatePreferences(
      caller,
      input.preferences as JsonObject,
    )) as Preferences,
  }),
});
