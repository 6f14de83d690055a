// The flame graph of what is selected. Frames too narrow to draw are one per parent, and counted.
import type { Profile } from "./data";
import { byId, fill, make, useArrows } from "./dom";
import { childrenOf, type Branch } from "./engine";
import { duration, share } from "./format";
import type { State } from "./state";

const kLeastPixels = 3;
const kRowPixels = 18;
const kKinds = ["nat", "ker", "pyt", "jit", "pro"];

export function kindClass(profile: Profile, fn: number): string {
  return fn < 0 ? "pro" : (kKinds[profile.functions.kind[fn]!] ?? "pro");
}

interface Box {
  branch: Branch;
  path: number[]; // functions from the root on
  left: number; // shares of the width
  width: number;
  depth: number;
  few: number; // so many are joined here; 0: it is one
}

/** What is drawn below `root`, the widest first in each row. */
export function boxes(root: Branch, path: number[], least: number): Box[] {
  const drawn: Box[] = [];
  const all = root.time.all;
  const walk = (of: Branch, at: number[], left: number, depth: number): void => {
    const width = all === 0 ? 0 : of.time.all / all;
    drawn.push({ branch: of, path: at, left, width, depth, few: 0 });
    let few = 0;
    let fewWidth = 0;
    let next = left;
    for (const inner of childrenOf(of)) {
      const share = all === 0 ? 0 : inner.time.all / all;
      if (share < least) {
        ++few;
        fewWidth += share;
        continue;
      }
      walk(inner, [...at, inner.fn], next, depth + 1);
      next += share;
    }
    if (few > 0 && fewWidth >= least)
      drawn.push({ branch: of, path: at, left: next, width: fewWidth, depth: depth + 1, few });
  };
  walk(root, path, 0, 0);
  return drawn;
}

export function showFlameGraph(state: State): void {
  const { profile } = state;
  const view = byId("flame");
  const back = make("button", { type: "button", id: "zoom-out", hidden: true }, "show all");
  const turn = make("button", { type: "button", id: "icicle", "aria-pressed": String(state.icicle) }, "icicle");
  const words = make("p", { class: "dim words", "aria-live": "polite" });
  const frames = make("div", { class: "frames", role: "tree", "aria-label": "flame graph" });
  const scroll = make("div", { class: "window" }, frames);
  fill(view, make("div", { class: "tools" }, back, turn), words, scroll);

  const nameOf = (fn: number): string => (fn < 0 ? "all" : profile.functions.name[fn]!);
  const draw = (): void => {
    let root = state.tree;
    const all = root.time.all;
    for (const [depth, fn] of state.zoom.entries()) {
      const inner = root.children.get(fn);
      if (!inner) {
        state.zoom = state.zoom.slice(0, depth);
        break;
      }
      root = inner;
    }
    back.hidden = state.zoom.length === 0;
    const width = Math.max(frames.clientWidth, 320);
    const drawn = boxes(root, state.zoom, kLeastPixels / width);
    const depth = Math.max(...drawn.map((box) => box.depth)) + 1;
    frames.style.height = `${depth * kRowPixels}px`;
    fill(
      frames,
      ...drawn.map((box, i) => {
        const { branch, few } = box;
        const name = few > 0 ? `${few} more` : nameOf(branch.fn);
        const ns = few > 0 ? box.width * root.time.all : branch.time.all;
        const tip = `${name}: ${duration(ns)}, ${share(ns, all)} of what is selected`;
        const hit = few === 0 && branch.fn >= 0 && state.fits(name);
        const row = state.icicle ? box.depth : depth - 1 - box.depth;
        const element = make(
          "div",
          {
            class: `frame ${few > 0 ? "few" : kindClass(profile, branch.fn)}${hit ? " hit" : ""}`,
            role: "treeitem",
            tabindex: i === 0 ? 0 : -1,
            "aria-label": tip,
            title: tip,
            "data-name": name,
            "data-ns": Math.round(ns),
            style: `left:${100 * box.left}%;width:${100 * box.width}%;top:${row * kRowPixels}px`,
          },
          box.width * width > 24 ? name : "",
        );
        element.addEventListener("focus", () => (words.textContent = tip));
        element.addEventListener("pointerenter", () => (words.textContent = tip));
        if (few === 0) {
          element.addEventListener("click", () => {
            state.zoom = box.path;
            draw();
            state.fn = branch.fn;
            state.redraw();
          });
        }
        return element;
      }),
    );
    scroll.scrollTop = state.icicle ? 0 : scroll.scrollHeight; // where the root is
  };
  back.addEventListener("click", () => {
    state.zoom = [];
    draw();
  });
  turn.addEventListener("click", () => {
    state.icicle = !state.icicle;
    turn.setAttribute("aria-pressed", String(state.icicle));
    draw();
  });
  useArrows(frames, "ArrowUp");
  window.addEventListener("resize", draw, { signal: state.signal });
  state.draws(draw);
}
