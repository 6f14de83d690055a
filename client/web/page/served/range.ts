// Ranges of the history: as people read them, and as profctl takes them.
import { shellWord } from "../format";
import { kWho, type Side } from "./address";
import type { Range, Sources } from "./api";

const kSecondUs = 1e6;

const two = (value: number): string => String(value).padStart(2, "0");

/** "14:05:10"; of another day with the date in front. */
export function clock(unixUs: number, seconds = true): string {
  const time = new Date(unixUs / 1000);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} `;
  const today = time.toDateString() === new Date().toDateString();
  return `${today ? "" : day}${two(time.getHours())}:${two(time.getMinutes())}${seconds ? `:${two(time.getSeconds())}` : ""}`;
}

export function rangeText(range: Range): string {
  return `${clock(range.fromUs)} to ${clock(range.toUs)}`;
}

/**
 * To whole seconds, as profctl has them. A window that is partly in a range is part of it, so a
 * range may shrink, but must not reach another window.
 */
export function wholeSeconds(range: Range): Range {
  const fromUs = Math.ceil(range.fromUs / kSecondUs) * kSecondUs;
  const toUs = Math.floor(range.toUs / kSecondUs) * kSecondUs;
  return fromUs < toUs ? { fromUs, toUs } : range;
}

/** The end of a path; with as much of it as none of the others shares. */
export function shortName(name: string, others: string[]): string {
  const parts = name.split("/");
  for (let from = parts.length - 1; from > 0; --from) {
    const short = parts.slice(from).join("/");
    if (!others.some((other) => other !== name && (other === short || other.endsWith(`/${short}`)))) return short;
  }
  return name;
}

/** What makes the same profile in a terminal, but for its filter. */
export function commandOf(of: Side, sources: Sources): string {
  if (of.source.startsWith("file:")) {
    const file = sources.files.find((one) => one.source === of.source);
    return `profctl report ${shellWord(file?.name ?? "FILE.json")}`;
  }
  if (of.source !== "history") return "profctl report -a -d 2s";
  const iso = (us: number): string => new Date(us / 1000).toISOString().replace(/\.\d+/, "");
  const times = of.range ? `--from ${iso(of.range.fromUs)} --to ${iso(of.range.toUs)}` : "--since 1h";
  const who = kWho.flatMap((key) =>
    of.who[key] ? [` ${key === "pid" ? "-p" : `--${key}`} ${shellWord(of.who[key]!)}`] : [],
  );
  return `profctl report ${times}${who.join("")}`;
}
