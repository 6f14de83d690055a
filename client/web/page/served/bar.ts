// The bar above a profile: which one is shown, of what, and compared with what. It says what a
// person wants; others do it.
import { byId, fill, make } from "../dom";
import { kGroupings, kSpans, kWho, parametersOf, type StripView, type View, type WhoKey } from "./address";
import { api, type Format, type Sources } from "./api";
import { rangeText, shortName } from "./range";

export interface BarEvents {
  source: (source: string) => void;
  live: () => void; // on or off
  filter: (text: string) => void;
  before: (choice: string) => void; // "", a source, "earlier", "range"
  anyone: (key: WhoKey) => void; // not only these any more
  liveOf: (text: string) => void;
  strip: (view: StripView) => void;
}

export class Bar {
  private readonly source = make("select", { id: "source", "aria-label": "what is shown" });
  private readonly live = make("button", { id: "live", type: "button", "aria-pressed": "false" }, "live");
  private readonly filter = make("input", {
    id: "filter",
    type: "search",
    placeholder: "filter: state = blocked and function ~ malloc",
    "aria-label": "filter of samples, as of profctl report --filter; Enter applies it",
    spellcheck: "false",
  });
  private readonly before = make("select", { id: "before", "aria-label": "what it is compared with" });
  private readonly download = make("ul", {});
  private readonly link = make("button", { id: "link", type: "button" }, "copy link");
  private readonly liveOf = make("input", {
    id: "live-of",
    type: "search",
    placeholder: "all processes, or a pid or name",
    "aria-label": "process that is shown live: a pid or a name; Enter applies it",
  });
  private readonly only = make("span", { id: "only" });
  private readonly status = make("p", { id: "status", role: "status" });
  private readonly span = make("select", { id: "span", "aria-label": "time of the strip" });
  private readonly by = make("select", { id: "by", "aria-label": "rows of the strip" });
  /** The strip goes in here. */
  readonly strip = make("div", { id: "strip" });
  private readonly stripTools = make("section", { "aria-label": "the host over time", id: "host" });

  constructor(
    private readonly sources: Sources,
    private readonly formats: Format[],
    private readonly events: BarEvents,
  ) {
    for (const { source, name } of this.fileNames()) this.source.append(make("option", { value: source }, name));
    if (sources.history) this.source.append(make("option", { value: "history" }, "the history"));
    if (sources.live) this.source.append(make("option", { value: "live" }, "what runs now"));
    for (const { seconds, name } of kSpans) this.span.append(make("option", { value: String(seconds) }, name));
    for (const { key, name } of kGroupings) this.by.append(make("option", { value: key }, `by ${name}`));
    this.live.hidden = !sources.live;
    this.stripTools.hidden = !sources.history;
    fill(
      this.stripTools,
      make("div", { class: "tools" }, make("b", {}, "The host, the last"), this.span, this.by,
        make("span", { class: "dim" }, "drag to choose a range")),
      this.strip,
    );
    fill(
      byId("served"),
      make("nav", { class: "tools", "aria-label": "profile" },
        this.source, this.live, this.liveOf, this.only, this.filter,
        make("label", {}, "compare with ", this.before),
        make("details", { class: "menu", id: "download" }, make("summary", {}, "download"), this.download),
        this.link),
      this.status,
      this.stripTools,
      make("section", { id: "comparison", "aria-label": "what changed", hidden: true }),
    );
    this.listen();
  }

  private fileNames(): { source: string; name: string }[] {
    const { files } = this.sources;
    const names = files.map((file) => file.name);
    return files.map(({ source, name }) => ({ source, name: shortName(name, names) }));
  }

  private listen(): void {
    const { events } = this;
    const entered = (input: HTMLInputElement, take: (text: string) => void): void => {
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") take(input.value.trim());
      });
      // The cross of a search field.
      input.addEventListener("search", () => input.value === "" && take(""));
    };
    this.source.addEventListener("change", () => events.source(this.source.value));
    this.live.addEventListener("click", () => events.live());
    this.before.addEventListener("change", () => events.before(this.before.value));
    const strip = (): void => events.strip({ seconds: Number(this.span.value), by: this.by.value });
    this.span.addEventListener("change", strip);
    this.by.addEventListener("change", strip);
    entered(this.filter, events.filter);
    entered(this.liveOf, events.liveOf);
    this.link.addEventListener("click", () => {
      navigator.clipboard.writeText(location.href).then(
        () => this.say("the link is copied: it shows the same to you, as long as profctl web runs"),
        () => this.say(`copy it from here: ${location.href}`),
      );
    });
  }

  /** What is shown now, as `view` has it. `taking`: drags over the strip choose `before`. */
  show(view: View, live: boolean, taking: boolean): void {
    const { shown, before } = view;
    this.source.value = shown.source.startsWith("live") ? "live" : shown.source;
    this.live.setAttribute("aria-pressed", String(live));
    this.liveOf.hidden = !shown.source.startsWith("live");
    this.liveOf.value = shown.who.pid ?? shown.who.comm ?? "";
    this.filter.value = shown.filter;
    this.span.value = String(view.strip.seconds);
    this.by.value = view.strip.by;
    fill(
      this.only,
      ...kWho.flatMap((key) =>
        shown.who[key] && shown.source === "history"
          ? [make("button", { type: "button", title: "show all again", click: () => this.events.anyone(key) },
              `only ${key} ${shown.who[key]!} \u00d7`)]
          : [],
      ),
    );
    const choices: [string, string][] = [["", "nothing"]];
    for (const { source, name } of this.fileNames()) choices.push([source, name]);
    if (this.sources.history) {
      if (shown.source === "history") choices.push(["earlier", "the same time before"]);
      choices.push(["range", "a range: drag over the strip"]);
      if (before?.range) choices.push(["history", rangeText(before.range)]);
    }
    fill(this.before, ...choices.map(([value, name]) => make("option", { value }, name)));
    this.before.value = taking ? "range" : (before?.source ?? "");
    this.drawDownload(view);
  }

  private drawDownload(view: View): void {
    const { shown } = view;
    const ready = shown.source !== "live";
    fill(
      this.download,
      ...this.formats.map((format) => {
        const parameters = parametersOf(shown);
        parameters.set("format", format.name);
        return make(
          "li",
          {},
          ready
            ? make("a", { href: api.download(parameters), download: `profile${format.extension}` }, format.name)
            : format.name,
          make("small", {}, format.about),
        );
      }),
    );
  }

  say(text: string): void {
    this.status.className = "dim";
    this.status.setAttribute("role", "status");
    this.status.textContent = text;
  }

  fail(message: string, hint: string): void {
    this.status.className = "failure";
    this.status.setAttribute("role", "alert");
    fill(this.status, make("b", {}, message), hint ? ` ${hint}` : "");
  }
}
