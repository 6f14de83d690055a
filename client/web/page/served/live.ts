// What runs now: one session after the other, as long as the page can be seen.

async function visible(signal: AbortSignal): Promise<void> {
  while (document.hidden && !signal.aborted)
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true, signal });
      signal.addEventListener("abort", done, { once: true });
    });
}

/** Calls `next` again and again; what happens between two calls is not seen. */
export class LiveLoop {
  private life: AbortController | null = null;

  get running(): boolean {
    return this.life !== null;
  }

  start(next: (signal: AbortSignal) => Promise<void>, failed: (error: unknown) => void): void {
    this.stop();
    const life = new AbortController();
    this.life = life;
    const run = async (): Promise<void> => {
      while (!life.signal.aborted) {
        await visible(life.signal);
        if (!life.signal.aborted) await next(life.signal);
      }
    };
    run().catch((error: unknown) => {
      if (life.signal.aborted) return;
      this.life = null;
      failed(error);
    });
  }

  stop(): void {
    this.life?.abort();
    this.life = null;
  }
}
