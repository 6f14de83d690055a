// What is shown: the profile, and what of it is selected. Views draw themselves again when it
// changes.
import type { Profile } from "./data";
import {
  everything,
  select,
  stacksOf,
  totalOf,
  tree,
  type Branch,
  type Selection,
  type Stacks,
  type Time,
} from "./engine";

/** Where the profile is from, for those who want it in a terminal. */
export interface Origin {
  command: string; // for a shell
  filter: string; // of which it has the samples; "": all
}

export class State {
  selection: Selection = everything();
  search = "";
  fn = -1; // both sides of this function are shown; -1: of none
  key = "thread"; // of the table by key
  icicle = false;
  zoom: number[] = []; // functions from the outermost on: the flame graph shows what is below
  samples!: Uint32Array;
  stacks!: Stacks; // of these
  total!: Time; // the same
  tree!: Branch; // the same
  private readonly views: (() => void)[] = [];
  private readonly life = new AbortController();

  constructor(
    readonly profile: Profile,
    readonly origin: Origin = { command: "profctl report FILE.json", filter: "" },
  ) {
    this.sum();
  }

  /** Of listeners that end with this. */
  get signal(): AbortSignal {
    return this.life.signal;
  }

  /** Another profile takes its place. */
  end(): void {
    this.life.abort();
  }

  draws(view: () => void): void {
    this.views.push(view);
  }

  change(what: Partial<Selection>): void {
    this.selection = { ...this.selection, ...what };
    this.sum();
    this.redraw();
  }

  private sum(): void {
    this.samples = select(this.profile, this.selection);
    this.stacks = stacksOf(this.profile, this.samples, this.selection);
    this.total = totalOf(this.profile, this.samples);
    this.tree = tree(this.profile, this.stacks);
  }

  /** Selects a value of a key, or leaves it out again. */
  toggle(key: string, value: number): void {
    const only = new Map(this.selection.only);
    const values = new Set(only.get(key) ?? []);
    if (!values.delete(value)) values.add(value);
    if (values.size === 0) only.delete(key);
    else only.set(key, values);
    this.change({ only });
  }

  isOnly(key: string, value: number): boolean {
    return this.selection.only.get(key)?.has(value) ?? false;
  }

  clear(): void {
    this.change({ fromNs: 0, toNs: Infinity, only: new Map() });
  }

  redraw(): void {
    for (const view of this.views) view();
  }

  fits(name: string): boolean {
    return this.search !== "" && name.toLowerCase().includes(this.search.toLowerCase());
  }
}
