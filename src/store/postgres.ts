import type { Store } from "./store.ts";

export async function openPostgres(address: string): Promise<Store> {
  throw new Error(`not yet: ${address.split(":")[0]}`);
}
