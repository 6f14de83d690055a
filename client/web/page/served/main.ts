// The page that profctl web serves: which profile is shown, from which source, and what goes on
// while it is fetched.
import { byId } from "../dom";
import { keep, restore } from "../kept";
import { State } from "../state";
import { listenForTheme, showViews } from "../views";
import { fromHash, kSpans, parametersOf, side, toHash, type Side, type StripView, type View } from "./address";
import { api, Refusal, type Range, type Sources } from "./api";
import { Bar } from "./bar";
import { showComparison } from "./comparison";
import { LiveLoop } from "./live";
import { commandOf, rangeText, shortName, wholeSeconds } from "./range";
import { HostStrip } from "./strip";

const kSecondUs = 1e6;
const kLiveSeconds = 2;
const kDefaultSeconds = 900; // of the history, where none are chosen
const kLeastPauseMs = 2000; // between two questions for new windows

class Page {
  private view: View;
  private state: State | null = null;
  private readonly bar: Bar;
  private readonly strip: HostStrip;
  private readonly loop = new LiveLoop();
  private loading = new AbortController();
  private takesBefore = false; // a drag chooses what is compared with
  private shownTimes = 0;

  constructor(
    private readonly sources: Sources,
    formats: Awaited<ReturnType<typeof api.formats>>,
  ) {
    this.view = fromHash(location.hash) ?? this.firstView();
    this.bar = new Bar(sources, formats, {
      source: (source) => this.showSource(source),
      live: () => (this.loop.running ? this.pause() : this.showSource("live")),
      filter: (filter) => this.change({ ...this.view.shown, filter }),
      before: (choice) => this.compareWith(choice),
      anyone: (key) => this.change({ ...this.view.shown, who: { ...this.view.shown.who, [key]: "" } }),
      liveOf: (text) => this.change({ ...this.view.shown, source: "live", who: /^\d+$/.test(text) ? { pid: text } : { comm: text } }),
      strip: (view) => this.changeStrip(view),
    });
    this.strip = new HostStrip(this.bar.strip, {
      choose: (range) => this.choose(wholeSeconds(range)),
      only: (key, name) =>
        this.change({ ...this.historySide(), filter: this.view.shown.filter, who: { [key]: name } }),
    });
    window.addEventListener("hashchange", () => {
      const view = fromHash(location.hash);
      if (!view) return;
      this.view = view;
      this.show();
    });
  }

  start(): void {
    this.show();
    if (!this.sources.history) return;
    this.loadStrip();
    window.setInterval(() => this.follow(), Math.max(kLeastPauseMs, this.sources.history.window_us / 1000));
  }

  private firstView(): View {
    const { files, history, live } = this.sources;
    const shown = files[0] ? side(files[0].source) : history && history.windows > 0 ? this.historySide() : side(live ? "live" : "none");
    return { shown, before: null, strip: { seconds: kSpans[1]!.seconds, by: "comm" }, kept: {} };
  }

  /** The history, in the range that is shown, else in its last minutes. */
  private historySide(): Side {
    const { shown } = this.view ?? { shown: side("none") };
    if (shown.source === "history" && shown.range) return { ...shown, who: {} };
    const { first_unix_us: first, last_unix_us: last } = this.sources.history!; // it is one of the choices
    const range = { fromUs: Math.max(first, last - kDefaultSeconds * kSecondUs), toUs: last };
    return { ...side("history"), range: wholeSeconds(range) };
  }

  private showSource(source: string): void {
    this.change(source === "history" ? this.historySide() : side(source));
  }

  private change(shown: Side): void {
    if (shown.source.startsWith("live:")) shown = { ...shown, source: "live" };
    if (this.state) this.view.kept = keep(this.state);
    this.view = { ...this.view, shown };
    history.pushState(null, "", toHash(this.view));
    this.show();
  }

  private pause(): void {
    this.loop.stop();
    this.bar.show(this.view, false, this.takesBefore);
    this.bar.say("live is off: this is the last session");
  }

  private choose(range: Range): void {
    if (!this.takesBefore) {
      this.takesBefore = false;
      const { shown } = this.view;
      this.change({ ...side("history"), range, who: shown.source === "history" ? shown.who : {}, filter: shown.filter });
      return;
    }
    this.takesBefore = false;
    this.setBefore({ ...this.historySide(), who: this.view.shown.who, range });
  }

  private compareWith(choice: string): void {
    const { range } = this.view.shown;
    this.takesBefore = choice === "range";
    if (choice === "range") {
      this.bar.say("drag over the strip to choose the range that this is compared with");
      return;
    }
    if (choice === "history") return;
    if (choice === "earlier" && range) {
      // A second earlier: it ends in the window before the first one, not in the first one itself.
      const toUs = range.fromUs - kSecondUs;
      this.setBefore({ ...this.view.shown, range: { fromUs: toUs - (range.toUs - range.fromUs), toUs } });
      return;
    }
    this.setBefore(choice ? { ...side(choice), filter: this.view.shown.filter } : null);
  }

  private setBefore(before: Side | null): void {
    this.view = { ...this.view, before };
    history.pushState(null, "", toHash(this.view));
    this.draw();
    void this.compare(this.loading.signal);
  }

  private changeStrip(strip: StripView): void {
    this.view = { ...this.view, strip };
    this.keepAddress();
    this.loadStrip();
  }

  /** Of the strip; null: nothing is kept yet. */
  private stripRange(): Range | null {
    const { history } = this.sources;
    if (!history || history.windows === 0) return null;
    const { first_unix_us: first, last_unix_us: last } = history;
    const { seconds } = this.view.strip;
    return { fromUs: seconds === 0 ? first : Math.max(first, last - seconds * kSecondUs), toUs: last };
  }

  private loadStrip(): void {
    const range = this.stripRange();
    if (range) this.strip.load(range, this.view.strip).catch((error: unknown) => this.failed(error, false));
  }

  /** New windows join the strip. */
  private follow(): void {
    if (document.hidden) return;
    api.sources()
      .then(({ history: now }) => {
        const before = this.sources.history;
        if (!now || !before || now.last_unix_us <= before.last_unix_us) return;
        this.sources.history = now;
        if (before.windows === 0) return this.loadStrip();
        return this.strip.follow(this.stripRange()!);
      })
      .catch((error: unknown) => this.failed(error, false));
  }

  private keepAddress(): void {
    if (this.state) this.view.kept = keep(this.state);
    history.replaceState(null, "", toHash(this.view));
  }

  /** The bar and the strip, as `view` has it. */
  private draw(): void {
    const { shown, before } = this.view;
    const rangeOf = (of: Side | null): Range | null => (of?.source === "history" ? of.range : null);
    this.bar.show(this.view, this.loop.running, this.takesBefore);
    this.strip.select(rangeOf(shown), rangeOf(before));
  }

  private show(): void {
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    this.loop.stop();
    document.documentElement.dataset["busy"] = "";
    if (this.view.shown.source === "live") {
      this.loop.start((live) => this.next(live), (error) => this.failed(error));
      this.bar.say(`collecting for ${kLiveSeconds} s`);
    } else if (this.view.shown.source === "none") {
      this.failed(new Refusal("nothing is kept yet", "the first window of the history ends within minutes"));
    } else {
      this.bar.say("reading");
      this.fetch(signal).catch((error: unknown) => !signal.aborted && this.failed(error));
    }
    this.draw();
  }

  private async fetch(signal: AbortSignal): Promise<void> {
    const { profile } = await api.profile(parametersOf(this.view.shown), signal);
    if (!signal.aborted) await this.put(profile, signal);
  }

  private async next(signal: AbortSignal): Promise<void> {
    const parameters = parametersOf(this.view.shown);
    parameters.delete("source");
    parameters.set("seconds", String(kLiveSeconds));
    const { profile, source } = await api.live(parameters, signal);
    if (signal.aborted) return;
    // The address goes on to say "live"; what is downloaded is this session.
    if (this.state) this.view.kept = keep(this.state);
    this.view = { ...this.view, shown: { ...this.view.shown, source } };
    await this.put(profile, signal);
    this.bar.show(this.view, true, this.takesBefore);
  }

  private async put(profile: State["profile"], signal: AbortSignal): Promise<void> {
    const { shown } = this.view;
    this.state?.end();
    const state = new State(profile, { command: commandOf(shown, this.sources), filter: shown.filter });
    restore(state, this.view.kept);
    this.state = state;
    byId("profile").hidden = false;
    state.draws(() => this.keepAddress());
    showViews(state);
    this.bar.say(shown.source === "history" && shown.range ? `the history, ${rangeText(shown.range)}: ${state.origin.command}` : "");
    await this.compare(signal);
    delete document.documentElement.dataset["busy"];
    document.documentElement.dataset["ready"] = String(++this.shownTimes);
  }

  private async compare(signal: AbortSignal): Promise<void> {
    const section = byId("comparison");
    const { shown, before } = this.view;
    section.hidden = true;
    if (!before || shown.source === "live") return;
    try {
      const parameters = parametersOf(shown, "b.", parametersOf(before, "a."));
      const diff = await api.compare(parameters, signal);
      if (signal.aborted) return;
      section.hidden = false;
      showComparison(section, diff, { before: this.nameOf(before), now: this.nameOf(shown) },
        (name) => this.state?.fits(name) ?? false);
    } catch (error) {
      if (!signal.aborted) this.failed(error, false);
    }
  }

  private nameOf(of: Side): string {
    if (of.source === "history" && of.range) return rangeText(of.range);
    const names = this.sources.files.map((file) => file.name);
    const file = this.sources.files.find((one) => one.source === of.source);
    return file ? shortName(file.name, names) : "what runs now";
  }

  /** `hide`: what stands below is not what was wanted. */
  private failed(error: unknown, hide = true): void {
    const refusal = error instanceof Refusal ? error : new Refusal(String(error), "");
    this.bar.fail(refusal.message, refusal.hint);
    if (hide) byId("profile").hidden = true;
    delete document.documentElement.dataset["busy"];
    document.documentElement.dataset["failed"] = String(++this.shownTimes);
    this.bar.show(this.view, this.loop.running, this.takesBefore);
  }
}

async function start(): Promise<void> {
  listenForTheme();
  byId("profile").hidden = true;
  const [sources, formats] = await Promise.all([api.sources(), api.formats()]);
  new Page(sources, formats).start();
}

start().catch((error: unknown) => {
  byId("served").textContent = error instanceof Refusal ? `${error.message}: ${error.hint}` : String(error);
});
