// The strip: what the host did over time, from the history. A range that is dragged over, or chosen
// by keys, is what a listener gets.
import { fill, make, svg } from "../dom";
import { duration, threads } from "../format";
import { api, type Range, type Strip, type StripColumn, type StripGroup } from "./api";
import { kGroupings, type StripView, type WhoKey } from "./address";
import { clock, rangeText } from "./range";

const kColumns = 96;
const kRows = 6; // groups
const kParts = ["working", "spinning", "runnable"]; // of rows, and of the upper half
const kUpper = 64; // of 100: the other part is of blocked time
const kTicks = 6;

export interface StripEvents {
  choose: (range: Range) => void;
  only: (key: WhoKey, name: string) => void;
}

const sumOf = (ns: number[], parts: number[]): number => parts.reduce((sum, part) => sum + (ns[part] ?? 0), 0);

function rect(x: number, y: number, width: number, height: number, part: string): SVGElement {
  return svg("rect", { x, y, width, height, class: `fill-${part}` });
}

/** Draws into `element`; one load at a time. */
export class HostStrip {
  private columns: Omit<StripColumn, "name">[] = [];
  private parts: string[] = [];
  private range: Range = { fromUs: 0, toUs: 1 };
  private view: StripView = { seconds: 0, by: "comm" };
  private pending: Range | null = null; // chosen by keys, not shown yet
  private shown: Range | null = null;
  private before: Range | null = null;
  private loading = new AbortController();
  private busy = false;
  private readonly picture = make("div", { class: "strip", tabindex: 0, role: "application" });
  private readonly rows = make("div", { class: "strip-rows" });
  private readonly words = make("p", { class: "dim", id: "strip-words", "aria-live": "polite" });

  constructor(
    element: HTMLElement,
    private readonly events: StripEvents,
  ) {
    this.picture.setAttribute(
      "aria-label",
      "what the host did over time; arrow keys choose a column, shift extends the choice, Enter shows it",
    );
    fill(element, this.picture, this.rows, this.words);
    this.listen();
  }

  /** Loads what `range` has, and draws it as it comes. */
  async load(range: Range, view: StripView): Promise<void> {
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    this.range = range;
    this.view = view;
    this.columns = [];
    this.draw();
    await this.fetch(range.fromUs, signal);
  }

  /** The same at a later time: fetches what is new since the last column. */
  async follow(range: Range): Promise<void> {
    const last = this.columns[this.columns.length - 1];
    if (!last || this.busy) return;
    this.range = range;
    this.columns = this.columns.filter((column) => column.to_unix_us > range.fromUs);
    await this.fetch(last.to_unix_us, this.loading.signal);
  }

  select(shown: Range | null, before: Range | null): void {
    this.shown = shown;
    this.before = before;
    this.draw();
  }

  private async fetch(fromUs: number, signal: AbortSignal): Promise<void> {
    this.busy = true;
    try {
      await this.fetchColumns(fromUs, signal);
    } catch (error) {
      if (!signal.aborted) throw error; // else another load has taken its place
    } finally {
      if (!signal.aborted) this.busy = false;
    }
  }

  private async fetchColumns(fromUs: number, signal: AbortSignal): Promise<void> {
    const { toUs } = this.range;
    const step = Math.max(1000, Math.ceil((toUs - this.range.fromUs) / kColumns));
    for (let from = fromUs; from < toUs && !signal.aborted; ) {
      const parameters = new URLSearchParams({
        from_unix_us: String(from),
        to_unix_us: String(toUs),
        step_us: String(step),
        by: this.view.by,
      });
      const strip: Strip = await api.strip(parameters, signal);
      if (signal.aborted) return;
      this.parts = strip.parts;
      this.columns.push(...strip.columns);
      from = strip.next_unix_us;
      this.draw();
    }
  }

  private listen(): void {
    let anchor: number | null = null;
    const at = (event: PointerEvent): number => {
      const box = this.picture.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      return this.range.fromUs + share * (this.range.toUs - this.range.fromUs);
    };
    this.picture.addEventListener("pointerdown", (event) => {
      anchor = at(event);
      this.picture.setPointerCapture(event.pointerId);
      this.pending = this.between(anchor, anchor);
      this.draw();
    });
    this.picture.addEventListener("pointermove", (event) => {
      if (anchor === null) return;
      this.pending = this.between(anchor, at(event));
      this.draw();
    });
    this.picture.addEventListener("pointerup", (event) => {
      if (anchor === null) return;
      this.pending = this.between(anchor, at(event));
      anchor = null;
      this.take();
    });
    this.picture.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "Enter") this.take();
      if (step === 0 || this.columns.length === 0) return;
      event.preventDefault();
      this.step(step, event.shiftKey);
    });
  }

  /** The columns that a range of time touches, as a whole. */
  private between(a: number, b: number): Range | null {
    const touched = this.columns.filter(
      (column) => column.to_unix_us > Math.min(a, b) && column.from_unix_us <= Math.max(a, b),
    );
    if (touched.length === 0) return null;
    return { fromUs: touched[0]!.from_unix_us, toUs: touched[touched.length - 1]!.to_unix_us };
  }

  private step(step: number, extend: boolean): void {
    const chosen = this.pending ?? this.shown;
    const last = this.columns.length - 1;
    const inside = (column: { from_unix_us: number; to_unix_us: number }): boolean =>
      chosen !== null && column.to_unix_us > chosen.fromUs && column.from_unix_us < chosen.toUs;
    const first = this.columns.findIndex(inside);
    const end = first < 0 ? -1 : last - [...this.columns].reverse().findIndex(inside);
    let [from, to] = first < 0 ? [last, last] : extend ? [first, end + step] : [end + step, end + step];
    from = Math.min(last, Math.max(0, from));
    to = Math.min(last, Math.max(from, to));
    this.pending = { fromUs: this.columns[from]!.from_unix_us, toUs: this.columns[to]!.to_unix_us };
    this.draw();
  }

  private take(): void {
    const chosen = this.pending;
    this.pending = null;
    if (chosen) this.events.choose(chosen);
    this.draw();
  }

  private x(us: number): number {
    return (100 * (us - this.range.fromUs)) / (this.range.toUs - this.range.fromUs);
  }

  private draw(): void {
    const running = kParts.map((part) => this.parts.indexOf(part));
    const blocked = [this.parts.indexOf("blocked")];
    const average = (column: { ns: number[]; length_ns: number }, parts: number[]): number =>
      column.length_ns === 0 ? 0 : sumOf(column.ns, parts) / column.length_ns;
    const most = Math.max(1e-9, ...this.columns.map((column) => average(column, running)));
    const mostBlocked = Math.max(1e-9, ...this.columns.map((column) => average(column, blocked)));
    const picture = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const column of this.columns) {
      const x = this.x(column.from_unix_us);
      const width = Math.max(0.05, this.x(column.to_unix_us) - x);
      const group = svg("g", { class: "column", "data-from": column.from_unix_us, "data-to": column.to_unix_us });
      const title = svg("title", {});
      title.textContent = `${rangeText({ fromUs: column.from_unix_us, toUs: column.to_unix_us })}: ${this.say(column)}`;
      group.append(title);
      let top = kUpper;
      for (const [i, part] of running.entries()) {
        const height = (kUpper * average(column, [part])) / most;
        top -= height;
        if (height > 0) group.append(rect(x, top, width, height, kParts[i]!));
      }
      group.append(rect(x, kUpper + 2, width, ((98 - kUpper) * average(column, blocked)) / mostBlocked, "blocked"));
      picture.append(group);
    }
    fill(this.picture, picture, ...this.marks(), this.ticks());
    this.drawRows(running, most);
    this.words.textContent =
      this.columns.length === 0
        ? "Nothing is kept of this time."
        : `Above: threads on average that work, spin or wait for a CPU, at most ${most.toFixed(2)}. Below: blocked ones, at most ${mostBlocked.toFixed(1)}.` +
          (this.pending ? ` Chosen: ${rangeText(this.pending)}, Enter shows it.` : "");
  }

  private say(column: { ns: number[]; length_ns: number }): string {
    return this.parts
      .flatMap((part, i) => (column.ns[i] ? [`${threads(column.ns[i]!, column.length_ns)} ${part}`] : []))
      .join(", ");
  }

  /** What is shown, compared with and chosen. */
  private marks(): HTMLElement[] {
    const marks: [Range | null, string, string][] = [
      [this.before, "before", "before"],
      [this.shown, "shown", "shown"],
      [this.pending, "pending", ""],
    ];
    return marks.flatMap(([range, kind, name]) => {
      if (!range || range.toUs <= this.range.fromUs || range.fromUs >= this.range.toUs) return [];
      const left = Math.max(0, this.x(range.fromUs));
      const width = Math.max(0.2, Math.min(100, this.x(range.toUs)) - left);
      return [make("div", { class: `chosen ${kind}`, style: `left:${left}%;width:${width}%` }, make("span", {}, name))];
    });
  }

  private ticks(): HTMLElement {
    const { fromUs, toUs } = this.range;
    const times = [...Array(kTicks).keys()].map((i) => fromUs + ((toUs - fromUs) * i) / (kTicks - 1));
    return make("div", { class: "ticks" }, ...times.map((us) => make("span", {}, clock(us, toUs - fromUs < 6e8))));
  }

  private drawRows(running: number[], most: number): void {
    const total = new Map<string, number>();
    for (const column of this.columns)
      for (const group of column.groups)
        total.set(group.name, (total.get(group.name) ?? 0) + sumOf(group.ns, running));
    const names = [...total].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, kRows);
    const who = kGroupings.find((grouping) => grouping.key === this.view.by)!.who;
    fill(
      this.rows,
      ...names.map(([name, ns]) => {
        const real = !name.startsWith("[");
        const picture = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
        for (const column of this.columns) {
          const group: StripGroup | undefined = column.groups.find((one) => one.name === name);
          if (!group || column.length_ns === 0) continue;
          const x = this.x(column.from_unix_us);
          const width = Math.max(0.05, this.x(column.to_unix_us) - x);
          let top = 100;
          for (const [i, part] of running.entries()) {
            const height = (100 * (group.ns[part] ?? 0)) / column.length_ns / most;
            top -= height;
            if (height > 0) picture.append(rect(x, top, width, height, kParts[i]!));
          }
        }
        return make(
          "div",
          { class: "strip-row", "data-group": name, "data-ns": ns },
          make("div", { class: "strip" }, picture),
          make(
            "button",
            {
              type: "button",
              disabled: !real,
              title: real ? `show only this ${this.view.by === "comm" ? "process" : this.view.by}` : name,
              click: () => this.events.only(who, name),
            },
            name,
          ),
          make("small", {}, `${duration(ns)} on or for a CPU`),
        );
      }),
    );
  }
}
