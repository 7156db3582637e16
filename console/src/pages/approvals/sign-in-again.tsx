// Some decisions need a fresh sign-in: how to get one and come back here.
import { Button } from "../../ui/button.tsx";
import { Sign } from "../../ui/verdict.tsx";
import { Copy } from "../../ui/copy.tsx";

/** The server says so in words only. */
export const wantsSignIn = (text: string): boolean =>
  /sign-in of the last|sign in again/i.test(text);

/** Signed out, this address shows the sign-in page, which leads back to it. */
async function signOutHere(): Promise<void> {
  await fetch("/logout", { method: "POST", redirect: "manual" });
  window.location.reload();
}

export function SignInAgain() {
  return (
    <div className="flex flex-col gap-2 rounded-md border border-hold/50 bg-hold-soft p-3">
      <p className="font-medium text-hold">
        <Sign sign="⏸" className="inline" /> Your sign-in is too old for this decision
      </p>
      <p>
        Sign in again with your key, and you come back to this approval. Or run{" "}
        <code>ostiary open</code>
        <Copy text="ostiary open" label="Copy the command" /> on the machine of the server and open
        this page in the console that it starts.
      </p>
      <div>
        <Button small onClick={() => void signOutHere()}>
          Sign in again
        </Button>
      </div>
    </div>
  );
}
