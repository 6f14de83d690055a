// Elements of the page. Text from a profile goes in as text only.

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | ((event: any) => void)>;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (name === "style") element.style.cssText = String(value); // the policy allows no attribute
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

export function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children);
}

/** Enter clicks the child that has the focus, and arrows move the focus: right and `further` to the next one. */
export function useArrows(parent: HTMLElement, further: "ArrowUp" | "ArrowDown"): void {
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: -1, ArrowDown: -1, [further]: 1 };
  parent.addEventListener("keydown", (event) => {
    const all = [...parent.children] as HTMLElement[];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Enter" && at >= 0) all[at]!.click();
    const step = steps[event.key];
    if (step === undefined || at < 0) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, at + step))]!.focus();
  });
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}
