// REST, for what tRPC does not offer: downloads, readiness, streams.
import { type Failure, RequestFailed } from "./failure.ts";

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin", ...init });
  if (response.ok) return response;
  throw new RequestFailed(await failureIn(response));
}

export async function requestJson<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await request(path, init);
  return (await response.json()) as T;
}

async function failureIn(response: Response): Promise<Failure> {
  const requestId = response.headers.get("request-id");
  const text = await response.text();
  const problem = parsed(text);
  const { code, reason, detail, title, remedy, errors } = problem;
  return {
    code: typeof code === "string" ? code : `HTTP_${response.status}`,
    ...(typeof reason === "string" ? { reason } : {}),
    message:
      typeof detail === "string"
        ? detail
        : typeof title === "string"
          ? title
          : `The server answered ${response.status}`,
    ...(typeof remedy === "string" ? { remedy } : {}),
    ...(Array.isArray(errors) ? { errors: errors as NonNullable<Failure["errors"]> } : {}),
    ...(requestId ? { requestId } : {}),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Not from our server, e.g. a proxy's page: the status is all that is known.
    return {};
  }
}
