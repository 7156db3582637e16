import js from "@eslint/js";
import tseslint from "typescript-eslint";

// What a tool may not reach for by itself, and the power that replaces it.
const POWERS = {
  fetch: "use the `fetch` power: it applies the egress rules",
  process: "use the `host` power",
  Deno: "not here",
  Bun: "not here",
  WebSocket: "use the `fetch` power",
  EventSource: "use the `fetch` power",
  eval: "tools never evaluate code in this process",
};

const WAY_OUT = "use the egress guard (src/reach/egress/): it is the only way out";

// Files that may reach out by themselves, and why.
const REACHING_OUT = [
  "src/reach/egress/**", // the guard itself
  "src/cli/**", // the command line talks to its own server
  "src/client/**", // runs in programs of others, not in the server
  "src/server/stdio/bridge-http.ts", // so does the bridge from stdin and stdout
  "src/governance/policy/opa-server.ts", // an engine that the operator runs, addressed in the configuration
];

// Tables of data, one row a line. Everything else is laid out by the formatter.
const TABLES = ["src/contract/errors.ts", "test/requirements.ts", "test/scoreboard/checks.ts"];

export default tseslint.config(
  {
    ignores: [
      "examples/", // packages of its own: `npm run examples` checks their types
      "dist/",
      "packages/*/dist/",
      "coverage/",
      "node_modules/",
      ".tmp/",
      "console/dist/",
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: ["*.js", "bin/*.js", "scripts/*.mjs", "console/public/*.js"],
        },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: false }],
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_" },
      ],
      "@typescript-eslint/require-await": "off",
      // Our objects are closures: their methods have no `this` to lose.
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  {
    ignores: [...TABLES, "eslint.config.js"],
    rules: {
      "no-warning-comments": ["error", { terms: ["prettier-ignore"], location: "anywhere" }],
    },
  },
  {
    files: ["src/**/*.ts", "packages/*/src/**/*.ts"],
    ignores: ["**/*.test.ts", "**/*.suite.ts", ...REACHING_OUT],
    rules: {
      "no-restricted-globals": [
        "error",
        {
          globals: ["fetch", "WebSocket", "EventSource", "XMLHttpRequest"].map((name) => ({
            name,
            message: WAY_OUT,
          })),
          checkGlobalObject: true,
        },
      ],
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          paths: [
            ...[
              "node:https",
              "node:http2",
              "node:tls",
              "node:dgram",
              "node:dns",
              "node:dns/promises",
              "undici",
            ].map((name) => ({ name, message: WAY_OUT, allowTypeImports: true })),
            {
              name: "node:http",
              importNames: ["request", "get", "ClientRequest", "default"],
              message: WAY_OUT,
              allowTypeImports: true,
            },
            {
              name: "node:net",
              importNames: ["connect", "createConnection", "Socket", "default"],
              message: WAY_OUT,
              allowTypeImports: true,
            },
          ],
        },
      ],
    },
  },
  {
    files: ["src/tools/*/**/*.ts"],
    ignores: ["src/tools/**/*.test.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        {
          globals: Object.entries(POWERS).map(([name, message]) => ({ name, message })),
          checkGlobalObject: true,
        },
      ],
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["node:*", "fs", "http", "https", "net", "child_process"],
              message: "declare the power in `needs`",
            },
          ],
        },
      ],
    },
  },
  {
    // Navigation and refetching show their failures on the page; `void` says that nobody waits for them.
    files: ["console/**/*.{ts,tsx}"],
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: true }],
    },
  },
  {
    // Test files share a process: a hook at the top of what they import would be set for the first of them only.
    files: ["**/*.suite.ts", "test/fixtures/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)(Each|All)$/]",
          message: "set hooks in a function that each test file calls",
        },
      ],
    },
  },
  {
    // Answers from the wire have the shape that the test asserts.
    files: ["**/*.test.ts", "test/**", "bench/**"],
    rules: {
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-call": "off",
    },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
  {
    files: ["console/public/*.js"],
    languageOptions: { globals: { document: "readonly", localStorage: "readonly" } },
  },
);
