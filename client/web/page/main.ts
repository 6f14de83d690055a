// The page as one file: reads its data, and shows it.
import { decode } from "./data";
import { byId, make } from "./dom";
import { State } from "./state";
import { listenForTheme, showViews } from "./views";

// Not in the types of TypeScript 4.8.
declare class DecompressionStream {
  constructor(format: "gzip");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

async function read(): Promise<Uint8Array> {
  const text = byId("data").textContent ?? "";
  const binary = atob(text.trim());
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function start(): Promise<void> {
  const state = new State(decode(await read()));
  listenForTheme();
  showViews(state);
  document.documentElement.dataset["ready"] = "";
}

start().catch((error: unknown) => {
  byId("title").append(
    make("p", { role: "alert" }, `This page cannot show its data: ${String(error)}. It needs a browser of 2023 or newer.`),
  );
});
