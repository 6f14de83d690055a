"""What a soak has seen, as a table and as a picture."""

from soak_looks import by_reason
from soak_plot import Line, Panel, render

MIB = 1 << 20
FACTOR = 'profd_budget_period_factor{of="history",period="%s"}'


def rate(looks, total):
    """(seconds, growth a second since the look before) of what `total` says of a look's values."""
    return [(b.seconds, (total(b.values) - total(a.values)) / (b.seconds - a.seconds)) for a, b in zip(looks, looks[1:])]


def made(values):
    return values["profd_on_cpu_samples_total"] + values["profd_off_cpu_samples_total"]


def given_up(values):
    """Samples and events that the BPF side could not deliver, and samples that were dropped."""
    return sum(by_reason(values, "profd_lost_total").values()) + sum(by_reason(values, "profd_dropped_total").values())


def series(looks, name, scale=1.0):
    return [(look.seconds, look.values[name] * scale) for look in looks if name in look.values]


def picture(looks, windows, title):
    first = looks[0].values
    panels = [
        Panel("resident memory of profd", "MiB", [
            Line("all", [(look.seconds, look.resident) for look in looks]),
            Line("anonymous", [(look.seconds, look.anonymous) for look in looks])], scale=MIB),
        Panel("the history's files", "MiB", [Line("all files", series(looks, "profd_history_bytes"))],
              limit=limit_of(first, looks), limit_words="history.max_size", scale=MIB),
        Panel("closure error of the worst thread of each window", "%", [
            Line("by its states", [(window.seconds, window.closure * 100) for window in windows])], 0.1, "0.1 %"),
        Panel("samples a second", "", [
            Line("made", rate(looks, made)),
            Line("delivered", rate(looks, lambda values: values["profd_samples_delivered_total"])),
            Line("lost, dropped", rate(looks, given_up))]),
        Panel("the governor: periods are this much longer", "", [
            Line("off the CPU", series(looks, FACTOR % "off_cpu")),
            Line("on the CPU", series(looks, FACTOR % "on_cpu"))]),
        Panel("cost, of one CPU", "%", [
            Line("profd", [(at, share * 100) for at, share in rate(looks, lambda values: values["process_cpu_seconds_total"])]),
            Line("BPF programs", [(at, share * 100) for at, share in rate(looks, lambda values: values["profd_bpf_seconds_total"])])]),
    ]
    return render(title, panels, looks[-1].seconds)


def limit_of(values, looks):
    """Drawn only where the files come near it."""
    limit = values.get("profd_history_limit_bytes", 0)
    return limit if max(look.values.get("profd_history_bytes", 0) for look in looks) > limit / 2 else 0


def table(looks, windows):
    """Seven moments of the soak, and what passed since the one before."""
    shown = [looks[round(i * (len(looks) - 1) / 6)] for i in range(7)]
    lines = ["| s | resident MiB | caches MiB | history MiB | windows | worst closure | samples/s | periods off, on CPU | "
             "CPU % | BPF % |", "| ---: " * 10 + "|"]
    before = shown[0]
    for look in shown[1:]:
        passed, values = look.seconds - before.seconds, look.values
        worst = max((window.closure for window in windows if before.seconds < window.seconds <= look.seconds), default=0.0)
        grown = {name: (total(values) - total(before.values)) / passed for name, total in (
            ("made", made), ("cpu", lambda of: of["process_cpu_seconds_total"]), ("bpf", lambda of: of["profd_bpf_seconds_total"]))}
        lines.append(f"| {look.seconds:.0f} | {look.resident / MIB:.1f} | {sum(look.held.values()) / MIB:.1f} "
                     f"| {values['profd_history_bytes'] / MIB:.2f} | {values['profd_history_puts_total']:.0f} | {worst * 100:.4f} % "
                     f"| {grown['made']:.1f} | x {values[FACTOR % 'off_cpu']:.3g}, x {values[FACTOR % 'on_cpu']:.3g} "
                     f"| {grown['cpu'] * 100:.2f} | {grown['bpf'] * 100:.2f} |")
        before = look
    return "\n".join(lines)
