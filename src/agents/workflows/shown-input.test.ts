import { expect, test } from "vitest";
import { MASK } from "../../util/secrets/mask.ts";
import { maskSecrets } from "../../util/secrets/masker.ts";
import { shownInput } from "./shown-input.ts";

const shown = (input: Parameters<typeof shownInput>[0]) => shownInput(input, maskSecrets);

test("a value that is one reference stays, whatever its field is called", async () => {
  const input = { password: "{{input.password}}", deep: [{ apiKey: "{{steps.a.output.key}}" }] };
  expect(await shown(input)).toEqual(input);
});

test("everything else that may be a secret is masked as before", async () => {
  const key = `sk-ant-api03-${"a1B2c3D4e5".repeat(6)}`;
  const input = {
    password: "hunter2",
    token: "{{input.a}} and hunter2",
    secret: "{{no reference}}",
    // A name that looks like a secret itself.
    apiKey: `{{input.${key}}}`,
    text: `use ${key}`,
    again: ["{{input.a}}"],
  };
  expect(await shown(input)).toEqual({ ...maskSecrets(input) });
  expect(await shown(input)).toMatchObject({ password: MASK, token: MASK, secret: MASK });
  expect(JSON.stringify(await shown(input))).not.toContain(key);
});
