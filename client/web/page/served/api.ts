// The API of profctl web (client/web/README.md), as this page uses it.
import { decode, type Profile } from "../data";

/** Of the history, in us since 1970. */
export interface Range {
  fromUs: number;
  toUs: number;
}

export interface Sources {
  files: { source: string; name: string }[];
  history: { windows: number; window_us: number; first_unix_us: number; last_unix_us: number } | null;
  live: boolean;
  daemon_error?: string;
}

export interface Format {
  name: string;
  extension: string;
  about: string;
  viewers: string;
}

export interface StripGroup {
  name: string;
  ns: number[]; // by part
}
export interface StripColumn extends StripGroup {
  from_unix_us: number;
  to_unix_us: number;
  length_ns: number;
  groups: StripGroup[];
}
export interface Strip {
  parts: string[];
  columns: Omit<StripColumn, "name">[];
  next_unix_us: number;
}

export interface DiffTime {
  a_ns: number;
  b_ns: number;
  a_samples: number;
  b_samples: number;
}
export interface DiffSide {
  title: string;
  elapsed_ns: number;
  total_ns: number;
  samples: number;
}
export interface Diff {
  a: DiffSide;
  b: DiffSide;
  scale_of_a: number;
  states: (DiffTime & { state: string; name: string })[];
  functions: { name: string; kind: string; total: DiffTime; self: DiffTime }[];
  stacks: (DiffTime & { frames: string[] })[];
}

export class Refusal extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

async function get(method: string, parameters: URLSearchParams, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${method}?${parameters}`, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal("profctl web does not answer", "it may have ended: start it again, the address will be another");
  }
  if (response.ok) return response;
  let said: { error?: unknown; hint?: unknown } = {};
  try {
    said = (await response.json()) as typeof said;
  } catch {
    // Not from the API: the status has to do.
  }
  throw new Refusal(String(said.error ?? `profctl web answers ${response.status}`), String(said.hint ?? ""));
}

const json = async <T>(method: string, parameters = new URLSearchParams(), signal?: AbortSignal): Promise<T> =>
  (await (await get(method, parameters, signal)).json()) as T;

async function profile(
  method: string,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<{ profile: Profile; source: string }> {
  const response = await get(method, parameters, signal);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { profile: decode(bytes), source: response.headers.get("Profd-Source") ?? "" };
}

export const api = {
  sources: () => json<Sources>("sources"),
  formats: async () => (await json<{ formats: Format[] }>("formats")).formats,
  strip: (parameters: URLSearchParams, signal: AbortSignal) => json<Strip>("strip", parameters, signal),
  compare: (parameters: URLSearchParams, signal: AbortSignal) => json<Diff>("compare", parameters, signal),
  profile: (parameters: URLSearchParams, signal: AbortSignal) => profile("profile", parameters, signal),
  live: (parameters: URLSearchParams, signal: AbortSignal) => profile("live", parameters, signal),
  download: (parameters: URLSearchParams) => `api/v1/download?${parameters}`,
};
