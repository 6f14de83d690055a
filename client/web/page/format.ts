// Numbers for people, as profctl writes them.

export function duration(ns: number): string {
  const three = (value: number): string =>
    value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 999_500) return `${three(ns / 1e3)} us`;
  if (ns < 999_500_000) return `${three(ns / 1e6)} ms`;
  return `${three(ns / 1e9)} s`;
}

/** A half of the last digit goes to the even one; toFixed takes it up. */
function decimals(value: number, digits: number): string {
  const halves = value * 2 ** (digits + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const down = Math.floor(value * 10 ** digits);
  return ((down % 2 === 0 ? down : down + 1) / 10 ** digits).toFixed(digits);
}

export function share(part: number, whole: number): string {
  return part === 0 || whole === 0 ? "" : `${decimals((part / whole) * 100, 1)} %`;
}

/** "1.23", "45.1" or "123". */
export function rate(value: number): string {
  return decimals(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function threads(ns: number, lengthNs: number): string {
  return lengthNs === 0 ? "0.00" : (ns / lengthNs).toFixed(2);
}

/** One word for a shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
