// What hardware counters have counted, in the words of `profctl report --counters`.
import type { Profile } from "./data";
import type { Time } from "./engine";
import { rate, share } from "./format";

const kFewSamples = 10;
const kCountedNs = 0; // the order of kCounts
const kCycles = 1;
const kInstructions = 2;
const kMisses = 3;

/** What the columns of tables are. */
export const kCountColumns =
  "cycles: shares of all cycles; CPI: cycles per instruction; misses: cache misses per 1,000 instructions";

/** null: not known, also where the host lacks one of the counters. */
function quotient(of: number, by: number, factor = 1): number | null {
  return of === 0 || by === 0 ? null : (factor * of) / by;
}

export function cyclesOf(time: Time): number {
  return time.counts[kCycles]!;
}

export function cyclesPerInstruction(time: Time): number | null {
  return quotient(time.counts[kCycles]!, time.counts[kInstructions]!);
}

export function missesPerThousand(time: Time): number | null {
  return quotient(time.counts[kMisses]!, time.counts[kInstructions]!, 1000);
}

/** Counts of it rest on few samples. */
export function fewRan(time: Time): boolean {
  return time.ran < kFewSamples;
}

/** The rates of all that is selected. */
export function countsText(time: Time): string {
  const parts: string[] = [];
  const gigahertz = quotient(time.counts[kCycles]!, time.counts[kCountedNs]!);
  if (gigahertz !== null) parts.push(`${rate(gigahertz)} GHz`);
  const cpi = cyclesPerInstruction(time);
  const perCycle = quotient(time.counts[kInstructions]!, time.counts[kCycles]!);
  if (cpi !== null && perCycle !== null)
    parts.push(`CPI ${rate(cpi)} (${rate(perCycle)} instructions a cycle)`);
  const misses = missesPerThousand(time);
  if (misses !== null) parts.push(`${rate(misses)} cache misses per 1,000 instructions`);
  return parts.length === 0 ? "nothing was counted" : parts.join(", ");
}

/** For how much of the running time they have counted; "": nothing ran. */
export function countedTimeText(profile: Profile, time: Time): string {
  const running = ["working", "spinning", "stolen"].reduce(
    (sum, part) => sum + (time.ns[profile.parts.indexOf(part)] ?? 0),
    0,
  );
  if (running === 0) return "";
  const counted = Math.min(time.counts[kCountedNs]!, running);
  return `counted for ${share(counted, running) || "0.0 %"} of running time`;
}
