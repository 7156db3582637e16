import { api } from "../../api/client.ts";

/** Makes the user that stands for an agent, unless it is there. */
export async function makeUser(id: string, name: string): Promise<void> {
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof api.users.listUsers.query>> =
      await api.users.listUsers.query({ limit: 100, ...(after === null ? {} : { after }) });
    if (page.items.some((user) => user.id === id)) return;
    after = page.next;
  } while (after !== null);
  await api.users.createUser.mutate({ id, name });
}
