// What a person has chosen on the page, by names: it can be chosen again in another profile, and
// stands in links.
import { axisOf } from "./engine";
import type { State } from "./state";

export interface Kept {
  time?: [number, number]; // ns since the start
  only?: [string, string[]][];
  kernel?: boolean;
  search?: string;
  fn?: string;
  key?: string;
  icicle?: boolean;
  zoom?: string[];
}

/** Without what stands as it stands at first. */
export function keep(state: State): Kept {
  const { profile, selection } = state;
  const kept: Kept = {};
  if (selection.fromNs > 0 || selection.toNs !== Infinity)
    kept.time = [selection.fromNs, Math.min(selection.toNs, profile.lengthNs)];
  const only = [...selection.only].map(([key, values]): [string, string[]] => {
    const names = axisOf(profile, key)?.names ?? [];
    return [key, [...values].map((value) => names[value] ?? "")];
  });
  if (only.length > 0) kept.only = only;
  if (selection.kernel) kept.kernel = true;
  if (state.search !== "") kept.search = state.search;
  if (state.fn >= 0) kept.fn = profile.functions.name[state.fn]!;
  if (state.key !== "thread") kept.key = state.key;
  if (state.icicle) kept.icicle = true;
  if (state.zoom.length > 0) kept.zoom = state.zoom.map((fn) => profile.functions.name[fn]!);
  return kept;
}

/** What of it this profile has; before views are shown. */
export function restore(state: State, kept: Kept): void {
  const { profile } = state;
  const only = new Map<string, Set<number>>();
  for (const [key, names] of kept.only ?? []) {
    const known = axisOf(profile, key)?.names ?? [];
    const values = names.map((name) => known.indexOf(name)).filter((value) => value >= 0);
    if (values.length > 0) only.set(key, new Set(values));
  }
  const [fromNs, toNs] = profile.hasTimes && kept.time ? kept.time : [0, Infinity];
  state.search = kept.search ?? "";
  if (kept.key && axisOf(profile, kept.key)) state.key = kept.key;
  state.icicle = kept.icicle ?? false;
  const { name } = profile.functions;
  state.fn = kept.fn === undefined ? -1 : name.indexOf(kept.fn);
  const zoom = (kept.zoom ?? []).map((one) => name.indexOf(one));
  state.zoom = zoom.includes(-1) ? zoom.slice(0, zoom.indexOf(-1)) : zoom;
  // Sums over a million samples take a while: not for what is selected at first.
  if (fromNs > 0 || toNs !== Infinity || only.size > 0 || kept.kernel)
    state.change({ fromNs, toNs, only, kernel: kept.kernel ?? false });
}

/** Of a link, which may hold anything. */
export function keptFrom(text: string): Kept {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof read !== "object" || read === null) return {};
  const from = read as Record<string, unknown>;
  const texts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((one) => typeof one === "string");
  const kept: Kept = {};
  const { time, only, zoom } = from;
  if (Array.isArray(time) && time.length === 2 && time.every(Number.isFinite))
    kept.time = [Number(time[0]), Number(time[1])];
  if (Array.isArray(only))
    kept.only = only.filter(
      (one): one is [string, string[]] => Array.isArray(one) && typeof one[0] === "string" && texts(one[1]),
    );
  if (texts(zoom)) kept.zoom = zoom;
  for (const name of ["kernel", "icicle"] as const) if (from[name] === true) kept[name] = true;
  for (const name of ["search", "fn", "key"] as const) {
    const value = from[name];
    if (typeof value === "string") kept[name] = value;
  }
  return kept;
}
