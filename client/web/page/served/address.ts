// What the page shows, as the part of its address behind the #: a link shows the same to who has
// the token. Its names are those of the API.
import { keptFrom, type Kept } from "../kept";
import type { Range } from "./api";

export const kWho = ["pid", "comm", "exe", "cgroup", "container", "unit", "user", "thread"] as const;
export type WhoKey = (typeof kWho)[number];

/** A profile. */
export interface Side {
  source: string; // "file:0", "history", "live"; "live:3": a session that has ended
  range: Range | null; // of the history; null: its last hour
  who: Partial<Record<WhoKey, string>>;
  filter: string;
}

/** Of the strip. */
export interface StripView {
  seconds: number; // up to now; 0: all there is
  by: string;
}

export interface View {
  shown: Side;
  before: Side | null; // what `shown` is compared with
  strip: StripView;
  kept: Kept;
}

export function side(source: string): Side {
  return { source, range: null, who: {}, filter: "" };
}

export function parametersOf(of: Side, prefix = "", into = new URLSearchParams()): URLSearchParams {
  into.set(`${prefix}source`, of.source);
  if (of.range && of.source === "history") {
    into.set(`${prefix}from_unix_us`, String(of.range.fromUs));
    into.set(`${prefix}to_unix_us`, String(of.range.toUs));
  }
  for (const key of kWho) if (of.who[key]) into.set(prefix + key, of.who[key]!);
  if (of.filter) into.set(`${prefix}filter`, of.filter);
  return into;
}

function sideFrom(parameters: URLSearchParams, prefix: string): Side | null {
  const source = parameters.get(`${prefix}source`);
  if (source === null) return null;
  const of = side(source);
  const fromUs = Number(parameters.get(`${prefix}from_unix_us`));
  const toUs = Number(parameters.get(`${prefix}to_unix_us`));
  if (Number.isSafeInteger(fromUs) && Number.isSafeInteger(toUs) && fromUs < toUs) of.range = { fromUs, toUs };
  for (const key of kWho) {
    const value = parameters.get(prefix + key);
    if (value) of.who[key] = value;
  }
  of.filter = parameters.get(`${prefix}filter`) ?? "";
  return of;
}

export function toHash(view: View): string {
  const parameters = parametersOf(view.shown);
  if (view.before) parametersOf(view.before, "a.", parameters);
  if (view.strip.seconds !== kSpans[1]!.seconds) parameters.set("strip", String(view.strip.seconds));
  if (view.strip.by !== "comm") parameters.set("by", view.strip.by);
  if (Object.keys(view.kept).length > 0) parameters.set("page", JSON.stringify(view.kept));
  return `#${parameters}`;
}

/** Of any text; null: it names no profile. */
export function fromHash(hash: string): View | null {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const shown = sideFrom(parameters, "");
  if (!shown) return null;
  const seconds = Number(parameters.get("strip") ?? kSpans[1]!.seconds);
  const by = parameters.get("by") ?? "";
  return {
    shown,
    before: sideFrom(parameters, "a."),
    strip: {
      seconds: kSpans.some((span) => span.seconds === seconds) ? seconds : kSpans[1]!.seconds,
      by: kGroupings.some((grouping) => grouping.key === by) ? by : "comm",
    },
    kept: keptFrom(parameters.get("page") ?? ""),
  };
}

export const kSpans = [
  { seconds: 900, name: "15 minutes" },
  { seconds: 3600, name: "hour" },
  { seconds: 6 * 3600, name: "6 hours" },
  { seconds: 24 * 3600, name: "day" },
  { seconds: 7 * 24 * 3600, name: "week" },
  { seconds: 0, name: "all there is" },
];

export const kGroupings: { key: string; name: string; who: WhoKey }[] = [
  { key: "comm", name: "process", who: "comm" },
  { key: "unit", name: "unit", who: "unit" },
  { key: "container", name: "container", who: "container" },
  { key: "user", name: "user", who: "user" },
];
