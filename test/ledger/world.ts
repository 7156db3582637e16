// A real app with several tenants, servers, chains and checkpoints, and the exports it gives.
import { generateKeyPairSync, sign } from "node:crypto";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { keyIdOf, type LedgerKey } from "../../src/storage/ledger/key.ts";
import type { ExportQuestion } from "../../src/storage/ledger/export.ts";
import {
  verifyExport,
  type VerificationResult,
  type VerifyOptions,
} from "../../src/storage/ledger/verify.ts";
import { openStore } from "../../src/storage/store/store.ts";

export interface World {
  readonly app: StartedApp;
  export(question: ExportQuestion): Promise<Buffer>;
  /** More of everything: calls, other tenants, another server, a checkpoint. */
  more(rounds: number): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const app = await startApp({ listen: false, flags: { "audit.archiveAfterDays": "0" } });
  const caller = await app.callerOf(app.cliKey);
  // As a second server on the same log would write: under its own name, in chains of its own.
  const second = await openStore("sqlite:ostiary.db", {
    dataDir: app.dataDir,
    instanceId: "inst_second",
  });
  const say = (store: typeof second, tenantId: string, text: string) =>
    store.log.append({
      tenantId,
      at: Date.now(),
      action: "config.changed",
      actor: 'o"wner',
      executionId: null,
      body: JSON.stringify({ text, n: 1e-7, deep: { a: [1, "ü", "\u2028", "\ud800"] } }),
    });
  return {
    app,
    async export(question) {
      const { bytes } = await app.app.ledger.export(question);
      const chunks: Buffer[] = [];
      for await (const chunk of bytes()) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    async more(rounds) {
      for (let round = 0; round < rounds; round++) {
        await app.app.engine.execute(caller, {
          name: "system/echo",
          arguments: { text: `round ${round} ✓` },
          entry: "rest",
        });
        await say(app.app.store, "acme", `round ${round}`);
        await say(second, round % 2 === 0 ? "acme" : "local", `second ${round}`);
        if (round % 2 === 0) await app.app.ledger.checkpoint();
      }
    },
    async close() {
      await second.close();
      await app.close();
    },
  };
}

export const verified = (bytes: Uint8Array, options?: VerifyOptions): Promise<VerificationResult> =>
  verifyExport(once(bytes), options);

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** A key of somebody else. */
export function strangersKey(): LedgerKey {
  const { privateKey, publicKey: pair } = generateKeyPairSync("ed25519");
  const publicKey = pair.export({ type: "spki", format: "der" }).toString("base64");
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  };
}
