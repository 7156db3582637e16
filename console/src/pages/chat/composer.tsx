// Where one writes: Enter sends, / calls a tool by hand, pictures can be shown, a running turn can be stopped.
import { ImagePlus, Send, Square, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { useChange } from "../../api/query.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { notifyFailure } from "../../ui/toast.tsx";
import type { Message, SendInput, Session } from "./conversation.tsx";
import { DirectMode } from "./direct-mode.tsx";
import { Pickers, type Picks } from "./pickers.tsx";
import { Suggestions } from "./suggestions.tsx";

export function Composer({
  session,
  isRunning,
  editing,
  onCancelEdit,
  onSend,
}: {
  readonly session: Session | undefined;
  readonly isRunning: boolean;
  readonly editing: Message | null;
  readonly onCancelEdit: () => void;
  readonly onSend: (input: SendInput) => Promise<unknown>;
}) {
  const [text, setText] = useState("");
  const [images, setImages] = useState<readonly { id: string; name: string }[]>([]);
  const [picks, setPicks] = useState<Picks>({});
  const [isDirect, setDirect] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!editing) return;
    setText(editing.text);
    field.current?.focus();
  }, [editing]);
  const stop = useChange(() => api.chat.stopTurn.mutate({ id: session?.id ?? "" }), {
    refreshes: ["sessions", "turns"],
  });
  const send = async (message: string): Promise<void> => {
    if (message.trim() === "" || isRunning) return;
    const { model, capsuleId, personaId } = picks;
    try {
      await onSend({
        message,
        ...(model ? { model } : {}),
        ...(session === undefined && capsuleId ? { capsuleId } : {}),
        ...(session === undefined && personaId ? { personaId } : {}),
        ...(images.length > 0 ? { images: images.map(({ id }) => id) } : {}),
      });
      setText("");
      setImages([]);
    } catch {
      // The conversation shows the failure; what was written stays.
    }
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key === "Escape" && editing) onCancelEdit();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send(text);
  };
  const addPictures = async (files: FileList | null): Promise<void> => {
    for (const file of files ?? []) {
      try {
        const asset = await api.assets.addAsset.mutate({
          name: file.name,
          mime: file.type,
          data: await base64Of(file),
          ...(session ? { sessionId: session.id } : {}),
        });
        setImages((before) => [...before, { id: asset.id, name: file.name }]);
      } catch (cause) {
        notifyFailure(failureOf(cause));
      }
    }
  };
  return (
    <div className="border-t border-line bg-surface p-3">
      <div className="mx-auto flex max-w-3xl flex-col gap-2">
        {editing ? (
          <p className="flex items-center gap-2 text-muted">
            Said instead of an earlier message, in a branch of its own
            <IconButton label="Do not edit" onClick={onCancelEdit}>
              <X size={13} aria-hidden />
            </IconButton>
          </p>
        ) : null}
        {isDirect ? (
          <DirectMode isRunning={isRunning} onSend={(message) => void send(message)} />
        ) : (
          <>
            <Suggestions
              text={text}
              onChoose={(chosen) => {
                setText(chosen);
                field.current?.focus();
              }}
            />
            <div className="flex items-end gap-2">
              <textarea
                ref={field}
                aria-label="Message"
                rows={Math.min(8, Math.max(2, text.split("\n").length))}
                placeholder="Message, or / for tools"
                value={text}
                onChange={(event) => setText(event.target.value)}
                onKeyDown={onKey}
                className="min-w-0 flex-1 resize-none rounded-md border border-strong-line/70 bg-page px-3 py-2"
              />
              {isRunning && session ? (
                <Button look="danger" busy={stop.isPending} onClick={() => stop.mutate(undefined)}>
                  <Square size={13} aria-hidden /> Stop
                </Button>
              ) : (
                <Button
                  look="primary"
                  disabled={text.trim() === "" || isRunning}
                  onClick={() => void send(text)}
                >
                  <Send size={14} aria-hidden /> Send
                </Button>
              )}
            </div>
          </>
        )}
        {images.length === 0 ? null : (
          <ul className="flex flex-wrap gap-2">
            {images.map(({ id, name }) => (
              <li key={id} className="flex items-center gap-1 rounded bg-raised px-2 text-xs">
                {name}
                <IconButton
                  label={`Leave ${name} out`}
                  onClick={() => setImages(images.filter((one) => one.id !== id))}
                >
                  <X size={12} aria-hidden />
                </IconButton>
              </li>
            ))}
          </ul>
        )}
        <div className="flex flex-wrap items-center gap-2">
          <Pickers session={session} picks={picks} onChange={setPicks} />
          <Button
            small
            look={isDirect ? "primary" : "quiet"}
            aria-pressed={isDirect}
            onClick={() => setDirect(!isDirect)}
          >
            Direct mode
          </Button>
          <label className="inline-flex h-7 cursor-pointer items-center gap-1.5 rounded-md px-2 text-[13px] font-medium hover:bg-raised has-focus-visible:outline-2">
            <ImagePlus size={14} aria-hidden /> Picture
            <input
              type="file"
              accept="image/*"
              multiple
              className="sr-only"
              onChange={(event) => {
                void addPictures(event.target.files);
                event.target.value = "";
              }}
            />
          </label>
        </div>
      </div>
    </div>
  );
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768)
    text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}
