// The flame graph of a comparison: red is more than before, blue is less. Widths are the sum of
// both sides, so that what has vanished and what is new can be seen.
import { fill, make, useArrows } from "../dom";
import { duration } from "../format";
import type { Diff } from "./api";

const kLeastPixels = 3;
const kRowPixels = 18;
const kLevels = 4; // of each colour

export interface DiffBranch {
  name: string;
  a: number;
  b: number;
  children: Map<string, DiffBranch>;
}

export function diffTree(diff: Diff): DiffBranch {
  const root: DiffBranch = { name: "all", a: 0, b: 0, children: new Map() };
  for (const stack of diff.stacks) {
    let at = root;
    at.a += stack.a_ns;
    at.b += stack.b_ns;
    for (const name of stack.frames) {
      let inner = at.children.get(name);
      if (!inner) at.children.set(name, (inner = { name, a: 0, b: 0, children: new Map() }));
      inner.a += stack.a_ns;
      inner.b += stack.b_ns;
      at = inner;
    }
  }
  return root;
}

/** "new", "gone", "+12.0 %", "same". */
export function changeText(a: number, b: number): string {
  if (a === 0) return b === 0 ? "same" : "new";
  if (b === 0) return "gone";
  const percent = (100 * (b - a)) / a;
  if (Math.abs(percent) < 0.05) return "same";
  return `${percent > 0 ? "+" : ""}${percent.toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
}

/** "more2", "less4", "new", "gone", "same": a class of style. */
export function changeClass(a: number, b: number): string {
  if (a === 0 && b > 0) return "new";
  if (b === 0 && a > 0) return "gone";
  const share = a + b === 0 ? 0 : (b - a) / (a + b);
  const level = Math.min(kLevels, Math.ceil(Math.abs(share) * 2 * kLevels - 0.2));
  return level <= 0 ? "same" : `${share > 0 ? "more" : "less"}${level}`;
}

export function showDiffGraph(element: HTMLElement, diff: Diff, fits: (name: string) => boolean): void {
  const root = diffTree(diff);
  let path: DiffBranch[] = [root];
  const words = make("p", { class: "dim words", "aria-live": "polite" });
  const back = make("button", { type: "button", id: "diff-zoom-out", hidden: true }, "show all");
  const frames = make("div", { class: "frames", role: "tree", "aria-label": "flame graph of what changed" });
  const draw = (): void => {
    const top = path[path.length - 1]!;
    const all = top.a + top.b;
    const width = Math.max(frames.clientWidth, 320);
    const drawn: HTMLElement[] = [];
    let depth = 0;
    const walk = (of: DiffBranch, way: DiffBranch[], left: number, level: number): void => {
      const share = all === 0 ? 0 : (of.a + of.b) / all;
      if (share * width < kLeastPixels && level > 0) return;
      depth = Math.max(depth, level);
      const tip = `${of.name}: ${duration(of.a)} before, ${duration(of.b)} now, ${changeText(of.a, of.b)}`;
      const element = make(
        "div",
        {
          class: `frame ${changeClass(of.a, of.b)}${fits(of.name) ? " hit" : ""}`,
          role: "treeitem",
          tabindex: drawn.length === 0 ? 0 : -1,
          "aria-label": tip,
          title: tip,
          "data-name": of.name,
          "data-a": of.a,
          "data-b": of.b,
          style: `left:${100 * left}%;width:${100 * share}%;top:${level * kRowPixels}px`,
          click: () => {
            path = way;
            draw();
          },
          focus: () => (words.textContent = tip),
          pointerenter: () => (words.textContent = tip),
        },
        share * width > 24 ? of.name : "",
      );
      drawn.push(element);
      let next = left;
      for (const inner of [...of.children.values()].sort((x, y) => y.a + y.b - x.a - x.b)) {
        walk(inner, [...way, inner], next, level + 1);
        next += all === 0 ? 0 : (inner.a + inner.b) / all;
      }
    };
    walk(top, path, 0, 0);
    frames.style.height = `${(depth + 1) * kRowPixels}px`;
    back.hidden = path.length === 1;
    fill(frames, ...drawn);
  };
  back.addEventListener("click", () => {
    path = [root];
    draw();
  });
  useArrows(frames, "ArrowDown");
  fill(element, make("div", { class: "tools" }, back), words, make("div", { class: "window" }, frames));
  draw();
}
