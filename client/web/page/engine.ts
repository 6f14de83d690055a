// What the page computes: sums of the samples that are selected. Pure, without a document. The
// rules are those of `profctl report`, so that the numbers are the same.
import type { Axis, Profile } from "./data";

/** Which samples count. Empty sets: all. */
export interface Selection {
  fromNs: number; // a sample counts if it begins in [fromNs, toNs)
  toNs: number;
  only: Map<string, Set<number>>; // by key of an axis: its values
  kernel: boolean; // functions of the kernel are shown
}

export function everything(): Selection {
  return { fromNs: 0, toNs: Infinity, only: new Map(), kernel: false };
}

const kNoCounts = new Float64Array(0);
const kSpinning = 1; // working and spinning are the first parts

/** Time by part, what it rests on, and what hardware counters have counted of it. */
export class Time {
  readonly ns: Float64Array;
  readonly counts: Float64Array; // in the order of kCounts; empty: nothing is counted
  points = 0;
  ran = 0; // points of working and spinning: counts rest on them
  constructor(profile: Profile) {
    this.ns = new Float64Array(profile.parts.length);
    this.counts = profile.counts.length === 0 ? kNoCounts : new Float64Array(profile.counts.length);
  }
  add(profile: Profile, sample: number): void {
    const part = profile.part[sample]!;
    this.ns[part]! += profile.ns[sample]!;
    this.points += profile.points[sample]!;
    if (part <= kSpinning) this.ran += profile.points[sample]!;
    for (let i = 0; i < this.counts.length; ++i) this.counts[i]! += profile.counts[i]![sample]!;
  }
  plus(other: Time): void {
    for (let part = 0; part < this.ns.length; ++part) this.ns[part]! += other.ns[part]!;
    for (let i = 0; i < this.counts.length; ++i) this.counts[i]! += other.counts[i]!;
    this.points += other.points;
    this.ran += other.ran;
  }
  /** How many numbers it is. */
  get width(): number {
    return this.ns.length + this.counts.length + 2;
  }
  /** Adds its numbers to those that begin at `at`. */
  addTo(numbers: Float64Array, at: number): void {
    for (const ns of this.ns) numbers[at++]! += ns;
    for (const count of this.counts) numbers[at++]! += count;
    numbers[at++]! += this.points;
    numbers[at]! += this.ran;
  }
  /** Adds the numbers that begin at `at` to it. */
  addFrom(numbers: Float64Array, at: number): void {
    for (let part = 0; part < this.ns.length; ++part) this.ns[part]! += numbers[at++]!;
    for (let i = 0; i < this.counts.length; ++i) this.counts[i]! += numbers[at++]!;
    this.points += numbers[at++]!;
    this.ran += numbers[at]!;
  }
  get all(): number {
    let sum = 0;
    for (const ns of this.ns) sum += ns;
    return sum;
  }
}

export function axisOf(profile: Profile, key: string): Axis | undefined {
  return profile.axes.find((axis) => axis.key === key);
}

/** The samples that are selected, ascending. `ignoreTime`: at any time. */
export function select(profile: Profile, selection: Selection, ignoreTime = false): Uint32Array {
  const filters: [Uint32Array, Set<number>][] = [];
  for (const [key, values] of selection.only) {
    const axis = axisOf(profile, key);
    if (axis && values.size > 0) filters.push([axis.values, values]);
  }
  const chosen = new Uint32Array(profile.ns.length);
  const atAnyTime = ignoreTime || !profile.hasTimes || (selection.fromNs <= 0 && selection.toNs === Infinity);
  if (atAnyTime && filters.length === 0) return chosen.map((_, i) => i);
  let count = 0;
  for (let i = 0; i < profile.ns.length; ++i) {
    const time = profile.timeNs[i]!;
    if (!atAnyTime && (time < selection.fromNs || time >= selection.toNs)) continue;
    if (filters.every(([values, wanted]) => wanted.has(values[i]!))) chosen[count++] = i;
  }
  return chosen.subarray(0, count);
}

export function totalOf(profile: Profile, samples: Uint32Array): Time {
  const time = new Time(profile);
  for (const sample of samples) time.add(profile, sample);
  return time;
}

/** The time of each stack that the selected samples have: there are far fewer of them. */
export interface Stacks {
  leaf: number[]; // the innermost node as it is shown; 0: no stack
  time: Time[];
}

export function stacksOf(profile: Profile, samples: Uint32Array, selection: Selection): Stacks {
  const stacks: Stacks = { leaf: [], time: [] };
  const known = new Int32Array(profile.parent.length).fill(-1);
  for (const sample of samples) {
    const inner = profile.leaf[sample]!;
    const leaf = selection.kernel ? inner : profile.shown[inner]!;
    let at = known[leaf]!;
    if (at < 0) {
      at = known[leaf] = stacks.leaf.push(leaf) - 1;
      stacks.time.push(new Time(profile));
    }
    stacks.time[at]!.add(profile, sample);
  }
  return stacks;
}

export interface Row {
  value: number; // of the axis, or the number of the function; -1: no stack
  name: string;
  module: string;
  self: Time;
  total: Time;
}

function sorted(rows: Row[]): Row[] {
  return rows.sort(
    (a, b) =>
      b.self.all - a.self.all ||
      b.total.all - a.total.all ||
      (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}

/** The time of each node with all that is below it: that of a node begins at node * width. */
function inclusiveOf(profile: Profile, stacks: Stacks): { numbers: Float64Array; width: number } {
  const { width } = new Time(profile);
  const numbers = new Float64Array(profile.parent.length * width);
  for (const [stack, leaf] of stacks.leaf.entries()) stacks.time[stack]!.addTo(numbers, leaf * width);
  for (let node = profile.parent.length - 1; node > 0; --node) {
    const to = profile.parent[node]! * width;
    const from = node * width;
    for (let i = 0; i < width; ++i) numbers[to + i]! += numbers[from + i]!;
  }
  return { numbers, width };
}

/** Functions: self has the innermost ones, total each once in a stack, however often it is there. */
export function byFunction(profile: Profile, stacks: Stacks): Row[] {
  const { name, module } = profile.functions;
  const rows = new Map<number, Row>();
  const rowOf = (fn: number): Row => {
    let row = rows.get(fn);
    if (!row) {
      row = {
        value: fn,
        name: fn < 0 ? "[no stack]" : name[fn]!,
        module: fn < 0 ? "" : module[fn]!,
        self: new Time(profile),
        total: new Time(profile),
      };
      rows.set(fn, row);
    }
    return row;
  };
  const used = new Uint8Array(profile.parent.length); // a stack goes through it
  for (const [stack, leaf] of stacks.leaf.entries()) {
    const time = stacks.time[stack]!;
    const row = rowOf(leaf === 0 ? -1 : profile.fn[leaf]!);
    row.self.plus(time);
    if (leaf === 0) row.total.plus(time);
    for (let node = leaf; node !== 0 && used[node] === 0; node = profile.parent[node]!) used[node] = 1;
  }
  const { numbers, width } = inclusiveOf(profile, stacks);
  for (let node = 1; node < used.length; ++node) {
    if (used[node] === 0) continue;
    const fn = profile.fn[node]!;
    let outer = profile.parent[node]!;
    while (outer !== 0 && profile.fn[outer] !== fn) outer = profile.parent[outer]!;
    if (outer !== 0) continue; // in the total of that one
    rowOf(fn).total.addFrom(numbers, node * width);
  }
  return sorted([...rows.values()]);
}

/** Values of a key of samples; rows add up to all time. */
export function byAxis(profile: Profile, samples: Uint32Array, axis: Axis): Row[] {
  const rows: (Row | undefined)[] = new Array(axis.names.length);
  for (const sample of samples) {
    const value = axis.values[sample]!;
    let row = rows[value];
    if (!row) {
      const time = new Time(profile);
      row = rows[value] = { value, name: axis.names[value]!, module: "", self: time, total: time };
    }
    row.self.add(profile, sample);
  }
  return sorted(rows.filter((row): row is Row => row !== undefined));
}

/** For which part of the working time an operator is named; null: no sample works. */
export function namedShare(profile: Profile, samples: Uint32Array, operators: Axis): number | null {
  const working = profile.parts.indexOf("working");
  const unnamed = new Set(operators.unnamed);
  let named = 0;
  let all = 0;
  for (const sample of samples) {
    if (profile.part[sample] !== working) continue;
    const ns = profile.ns[sample]!;
    all += ns;
    if (!unnamed.has(operators.values[sample]!)) named += ns;
  }
  return all === 0 ? null : named / all;
}

/** Steps that begin in the range of time that is selected, by their places. */
export function stepsIn(profile: Profile, selection: Selection): number[] {
  const begins = profile.steps?.beginNs ?? [];
  return [...begins.keys()].filter((i) => begins[i]! >= selection.fromNs && begins[i]! < selection.toNs);
}

/** A tree of functions with their time. */
export interface Branch {
  fn: number; // -1: the root
  time: Time; // with what it calls
  self: number; // ns without
  children: Map<number, Branch>;
}

function branch(profile: Profile, fn: number): Branch {
  return { fn, time: new Time(profile), self: 0, children: new Map() };
}

function child(profile: Profile, of: Branch, fn: number): Branch {
  let found = of.children.get(fn);
  if (!found) {
    found = branch(profile, fn);
    of.children.set(fn, found);
  }
  return found;
}

/** The functions of a stack, outermost first. */
function pathOf(profile: Profile, leaf: number, path: number[]): void {
  path.length = 0;
  for (let node = leaf; node !== 0; node = profile.parent[node]!) path.push(profile.fn[node]!);
  path.reverse();
}

/** Adds time along a path below `at`, and gives the last branch its own. */
function grow(profile: Profile, at: Branch, path: Iterable<number>, time: Time): void {
  at.time.plus(time);
  for (const fn of path) {
    at = child(profile, at, fn);
    at.time.plus(time);
  }
  at.self += time.all;
}

/** The whole program, from the outermost functions inwards. */
export function tree(profile: Profile, stacks: Stacks): Branch {
  const root = branch(profile, -1);
  const known: (Branch | undefined)[] = new Array(profile.parent.length);
  known[0] = root;
  const below: [Branch, Branch][] = []; // what is made later stands behind what it is below
  const missing: number[] = [];
  for (const [stack, leaf] of stacks.leaf.entries()) {
    let node = leaf;
    for (; !known[node]; node = profile.parent[node]!) missing.push(node);
    let at = known[node]!;
    for (let next = missing.pop(); next !== undefined; next = missing.pop()) {
      const before = at.children.size;
      const inner = child(profile, at, profile.fn[next]!);
      if (at.children.size > before) below.push([at, inner]);
      known[next] = inner;
      at = inner;
    }
    const time = stacks.time[stack]!;
    at.self += time.all;
    at.time.plus(time);
  }
  for (let i = below.length - 1; i >= 0; --i) {
    const [outer, inner] = below[i]!;
    outer.time.plus(inner.time);
  }
  return root;
}

/** Both sides of a function: who calls its outermost frame in a stack, what its innermost one calls. */
export function sides(
  profile: Profile,
  stacks: Stacks,
  fn: number,
): { callers: Branch; callees: Branch } {
  const callers = branch(profile, fn);
  const callees = branch(profile, fn);
  const path: number[] = [];
  for (const [stack, leaf] of stacks.leaf.entries()) {
    pathOf(profile, leaf, path);
    const first = path.indexOf(fn);
    if (first < 0) continue;
    grow(profile, callers, path.slice(0, first).reverse(), stacks.time[stack]!);
    grow(profile, callees, path.slice(path.lastIndexOf(fn) + 1), stacks.time[stack]!);
  }
  return { callers, callees };
}

export function childrenOf(of: Branch): Branch[] {
  return [...of.children.values()].sort((a, b) => b.time.all - a.time.all || a.fn - b.fn);
}

/** Time of one part by the values of two keys. */
export interface Link {
  from: number; // values; -1: all others
  to: number;
  ns: number;
}

/** `most` values on each side have links of their own, the ones with most time. */
export function links(
  profile: Profile,
  samples: Uint32Array,
  from: Axis,
  to: Axis,
  part: number,
  most: number,
): Link[] {
  const sums = new Map<number, Map<number, number>>();
  const left = new Map<number, number>();
  const right = new Map<number, number>();
  const add = (to: Map<number, number>, key: number, ns: number): void => {
    to.set(key, (to.get(key) ?? 0) + ns);
  };
  for (const sample of samples) {
    if (profile.part[sample] !== part) continue;
    const a = from.values[sample]!;
    const b = to.values[sample]!;
    const ns = profile.ns[sample]!;
    add(left, a, ns);
    add(right, b, ns);
    let of = sums.get(a);
    if (!of) sums.set(a, (of = new Map()));
    add(of, b, ns);
  }
  const largest = (of: Map<number, number>): Set<number> =>
    new Set([...of].sort((x, y) => y[1] - x[1] || x[0] - y[0]).slice(0, most).map(([key]) => key));
  const keptLeft = largest(left);
  const keptRight = largest(right);
  const joined = new Map<string, Link>();
  for (const [a, of] of sums)
    for (const [b, ns] of of) {
      const link = { from: keptLeft.has(a) ? a : -1, to: keptRight.has(b) ? b : -1, ns: 0 };
      const key = `${link.from} ${link.to}`;
      const known = joined.get(key) ?? link;
      known.ns += ns;
      joined.set(key, known);
    }
  return [...joined.values()].sort((x, y) => y.ns - x.ns || x.from - y.from || x.to - y.to);
}

/** ns by second and by row within it; samples count where they begin. */
export interface Heat {
  columns: number;
  rows: number;
  rowNs: number;
  cells: Float64Array; // column * rows + row
  most: number;
}

export const kSecondNs = 1_000_000_000;

export function heat(
  profile: Profile,
  samples: Uint32Array,
  parts: Set<number>,
  rows: number,
): Heat {
  const columns = Math.max(1, Math.ceil(profile.lengthNs / kSecondNs));
  const rowNs = kSecondNs / rows;
  const cells = new Float64Array(columns * rows);
  for (const sample of samples) {
    if (!parts.has(profile.part[sample]!)) continue;
    const cell = Math.floor(profile.timeNs[sample]! / rowNs);
    if (cell >= 0 && cell < cells.length) cells[cell]! += profile.ns[sample]!;
  }
  let most = 0;
  for (const ns of cells) most = Math.max(most, ns);
  return { columns, rows, rowNs, cells, most };
}

/** The share of the time whose stack has a function that fits, nested ones counted once. */
export function matching(
  profile: Profile,
  stacks: Stacks,
  fits: (name: string) => boolean,
): number {
  const wanted = profile.functions.name.map(fits);
  const known = new Int8Array(profile.parent.length);
  for (let node = 1; node < known.length; ++node)
    known[node] = wanted[profile.fn[node]!] || known[profile.parent[node]!] ? 1 : 0;
  let all = 0;
  let found = 0;
  for (const [stack, leaf] of stacks.leaf.entries()) {
    const ns = stacks.time[stack]!.all;
    all += ns;
    if (known[leaf]) found += ns;
  }
  return all === 0 ? 0 : found / all;
}

/** The same selection for `profctl report FILE --filter`, of what it has fields for; "": everything. */
export function filterText(profile: Profile, selection: Selection): string {
  const terms: string[] = [];
  if (selection.fromNs > 0 || selection.toNs !== Infinity) {
    const text = (ns: number): string => (ns === Infinity ? "" : String(ns / kSecondNs));
    terms.push(`time = ${selection.fromNs === 0 ? "" : text(selection.fromNs)}..${text(selection.toNs)}`);
  }
  const fields = ["thread", "process", "operator", "phase", "state", "wait", "step"];
  for (const [key, values] of selection.only) {
    const axis = axisOf(profile, key);
    if (!axis || values.size === 0) continue;
    if (!fields.includes(key) && !key.startsWith("label:")) continue;
    const any = [...values].map((value) => `${key} = "${axis.names[value]!.replace(/"/g, "")}"`);
    terms.push(any.length === 1 ? any[0]! : `(${any.join(" or ")})`);
  }
  return terms.join(" and ");
}
