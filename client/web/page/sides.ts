// Both sides of a function: its callers and its callees, as trees that open.
import { byId, fill, make } from "./dom";
import { childrenOf, sides, type Branch } from "./engine";
import { duration, share } from "./format";
import type { State } from "./state";

const kChildren = 12;
const kOpenShare = 0.2; // of its tree: such a branch is open at first

function list(state: State, of: Branch, all: number, depth: number): HTMLElement {
  const { name } = state.profile.functions;
  const inner = childrenOf(of);
  const items: HTMLElement[] = [];
  if (of.self > 0 && inner.length > 0 && depth > 0)
    items.push(make("li", { class: "dim" }, `${share(of.self, all)} [self]`));
  for (const one of inner.slice(0, kChildren)) {
    const text = `${share(one.time.all, all)}  ${name[one.fn]!}`;
    const attributes = { "data-name": name[one.fn]!, "data-ns": one.time.all };
    const tip = duration(one.time.all);
    if (one.children.size === 0) {
      items.push(make("li", { ...attributes, title: tip }, text));
      continue;
    }
    const details = make("details", {}, make("summary", { title: tip }, text));
    // A tree may be deep: what is closed is made when it opens.
    const open = (): void => {
      if (details.children.length === 1) details.append(list(state, one, all, depth + 1));
    };
    details.addEventListener("toggle", open);
    if (depth < 40 && one.time.all > kOpenShare * all) {
      open();
      details.open = true;
    }
    items.push(make("li", attributes, details));
  }
  if (inner.length > kChildren)
    items.push(make("li", { class: "dim" }, `${inner.length - kChildren} more`));
  return make("ul", { class: "tree" }, ...items);
}

export function showSides(state: State): void {
  state.draws(() => {
    const section = byId("sides");
    const { profile } = state;
    if (state.fn < 0) {
      fill(section, make("p", { class: "dim" }, "Choose a function in the table or in the flame graph."));
      return;
    }
    const { callers, callees } = sides(profile, state.stacks, state.fn);
    const all = callers.time.all;
    fill(
      section,
      make("p", {}, make("b", {}, profile.functions.name[state.fn]!), `: ${duration(all)} of thread time`),
      make(
        "div",
        { class: "both" },
        make("div", { id: "callers" }, make("h3", {}, "callers"), list(state, callers, all, 0)),
        make("div", { id: "callees" }, make("h3", {}, "callees"), list(state, callees, all, 1)),
      ),
    );
  });
}

export function showTree(state: State): void {
  state.draws(() => {
    fill(byId("tree"), list(state, state.tree, state.tree.time.all, 0));
  });
}
