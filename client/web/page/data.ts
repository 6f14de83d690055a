// The profile as the page has it: see client/format/html/page_data.h for the layout.

/** A key of `profctl report`: what each sample has of it, numbered. */
export interface Axis {
  key: string;
  plural: string;
  names: string[];
  unnamed: number[]; // values that say that nothing is known; of operators only
  values: Uint32Array; // by sample
}

/** The steps of a training loop, in order of time. */
export interface Steps {
  count: number; // of all; the first ones are here
  rough: boolean; // found in few samples
  medianNs: number;
  beginNs: number[]; // since the start
  parts: { name: string; ns: number[] }[]; // the first is the whole step
}

export interface Profile {
  title: string;
  facts: string[];
  notes: string[]; // what is missing, a line each
  host: string;
  begin: string; // for people
  lengthNs: number;
  hasTimes: boolean; // each sample has its own instant
  parts: string[]; // "working", ...
  functions: { name: string[]; module: string[]; kind: number[] };
  // Stacks, merged by names. Node 0 is the root; a parent comes before its children.
  parent: Uint32Array;
  fn: Uint32Array;
  shown: Uint32Array; // the innermost node that is shown without functions of the kernel
  axes: Axis[];
  steps: Steps | null; // null: none are known
  // By sample.
  timeNs: Float64Array; // since the start
  ns: Float64Array;
  points: Uint32Array; // samples that it rests on; 0: time without one
  part: Uint32Array;
  leaf: Uint32Array; // a node; 0: no stack
  counts: Float64Array[]; // a column each of kCounts; empty: hardware counters have not counted
}

/** What hardware counters have counted of a sample, in the order of its columns. */
export const kCounts = ["counted ns", "cycles", "instructions", "cache misses"] as const;

interface Head {
  title: string;
  facts: string[];
  notes?: string[];
  host: string;
  begin: string;
  length_ns: number;
  has_times: boolean;
  counted?: boolean;
  parts: string[];
  functions: { name: string[]; module: string[]; kind: number[] };
  nodes: number;
  samples: number;
  steps: {
    count: number;
    rough: boolean;
    median_ns: number;
    begin_ns: number[];
    parts: { name: string; ns: number[] }[];
  } | null;
  // by_part: the value of each part; then there is no column.
  axes: { key: string; plural: string; names: string[]; unnamed?: number[]; by_part?: number[] }[];
}

/** Reads numbers of seven bits a byte, the lowest first. */
class Numbers {
  private at: number;
  constructor(private readonly bytes: Uint8Array, begin: number) {
    this.at = begin;
  }

  next(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("the data of this page is cut");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  column(count: number): Uint32Array {
    return this.into(new Uint32Array(count));
  }

  wide(count: number): Float64Array {
    return this.into(new Float64Array(count));
  }

  // Most numbers are one byte.
  private into<Values extends Uint32Array | Float64Array>(values: Values): Values {
    const { bytes } = this;
    for (let i = 0; i < values.length; ++i) {
      const byte = bytes[this.at]!;
      if (byte < 128) {
        values[i] = byte;
        ++this.at;
      } else {
        values[i] = this.next();
      }
    }
    return values;
  }

  /** Each is the difference from the one before, its sign in the lowest bit. */
  ascending(count: number): Float64Array {
    const values = new Float64Array(count);
    let last = 0;
    for (let i = 0; i < count; ++i) {
      const step = this.next();
      last += step % 2 === 0 ? step / 2 : -(step + 1) / 2;
      values[i] = last;
    }
    return values;
  }
}

function valuesByPart(part: Uint32Array, of: number[]): Uint32Array {
  const values = new Uint32Array(part.length);
  for (let i = 0; i < part.length; ++i) values[i] = of[part[i]!]!;
  return values;
}

export function decode(bytes: Uint8Array): Profile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headBytes = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headBytes))) as Head;
  const numbers = new Numbers(bytes, 4 + headBytes);
  const parent = numbers.column(head.nodes);
  const fn = numbers.column(head.nodes);
  const shown = numbers.column(head.nodes);
  const timeNs = numbers.ascending(head.samples);
  const ns = numbers.wide(head.samples);
  const points = numbers.column(head.samples);
  const part = numbers.column(head.samples);
  const leaf = numbers.column(head.samples);
  const counts = head.counted ? kCounts.map(() => numbers.wide(head.samples)) : [];
  const axes = head.axes.map(({ key, plural, names, unnamed, by_part }) => ({
    key,
    plural,
    names,
    unnamed: unnamed ?? [],
    values: by_part ? valuesByPart(part, by_part) : numbers.column(head.samples),
  }));
  return {
    title: head.title,
    facts: head.facts,
    notes: head.notes ?? [],
    host: head.host,
    begin: head.begin,
    lengthNs: head.length_ns,
    hasTimes: head.has_times,
    parts: head.parts,
    functions: head.functions,
    parent,
    fn,
    shown,
    axes,
    steps: head.steps && {
      count: head.steps.count,
      rough: head.steps.rough,
      medianNs: head.steps.median_ns,
      beginNs: head.steps.begin_ns,
      parts: head.steps.parts,
    },
    timeNs,
    ns,
    points,
    part,
    leaf,
    counts,
  };
}
