// Named secrets for request headers, and the hosts they are for.
import { z } from "zod";

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,62}$/;
const HOST = /^(\*\.)?[^\s/:@*%\\]{1,253}$/;

export const secretsConfig = z
  .record(
    z.string().regex(NAME, "expected a name of letters, digits, _, . and -"),
    z.strictObject({
      value: z
        .string()
        .min(1)
        .max(8_192)
        .regex(/^[\t\x20-\x7e]+$/, "expected visible characters on one line")
        .meta({ writeOnly: true }),
      hosts: z
        .array(z.string().regex(HOST, "expected a host such as api.example.org or *.example.org"))
        .min(1)
        .max(100),
    }),
  )
  .describe(
    "Secrets that tools put into request headers as `${secret:name}`, by name: `value` (best by reference) and `hosts`, the only ones it is sent to.",
  );
