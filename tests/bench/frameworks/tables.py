"""The tables that are printed."""

import os

import operators


def percent(share):
    return f"{100 * share:.1f} %"


def program_row(name, shares):
    cells = (shares.lost, shares.not_ready, shares.nameless, shares.by_place, shares.spinning)
    return f"| {name} | {shares.points:,} | " + " | ".join(map(percent, cells)) + " |"


def program_table(title, results):
    """results: name -> Shares."""
    lines = [f"| {title} | points | callers lost | tables not ready | no name | named by place | spinning |",
             "| --- |" + " ---: |" * 6]
    return "\n".join(lines + [program_row(name, shares) for name, shares in results.items()])


def reason_lines(results):
    lines = []
    for name, shares in results.items():
        parts = [f"{why} {percent(share)}" for why, share in shares.reasons.items() if share >= 0.001]
        parts += [f"no name in {os.path.basename(where) or where} {percent(share)}"
                  for where, share in shares.leaves.items() if share >= 0.005]
        if parts:
            lines.append(f"{name}: " + ", ".join(parts))
    return "\n".join(lines)


def operator_table(compared):
    """compared: name -> rows of operators.compare."""
    lines = ["| share of the time in operators | running | its interval | elapsed | torch.profiler | difference | agrees |",
             "| --- |" + " ---: |" * 5 + " --- |"]
    for name, rows in compared.items():
        for row in rows:
            lines.append(f"| {name}, {row.operator} | {percent(row.running)} | {100 * row.low:.1f}..{100 * row.high:.1f} | {percent(row.elapsed)} "
                         f"| {percent(row.torch)} | {100 * (row.running - row.torch):+.1f} | {'yes' if row.agrees else '**no**'} |")
    return "\n".join(lines)


def agreement(compared):
    rows = [row for of_one in compared.values() for row in of_one]
    good = sum(row.agrees for row in rows)
    return (f"{good} of {len(rows)} operators above {100 * operators.ABOVE:.0f} % agree within {100 * operators.WITHIN:.0f} points "
            "or their interval.")


def overhead_table(rates):
    """rates: name -> steps a second without torch.profiler and with it."""
    lines = ["| steps/s | alone | with torch.profiler | ratio |", "| --- | ---: | ---: | ---: |"]
    return "\n".join(lines + [f"| {name} | {bare:.1f} | {profiled:.1f} | {profiled / bare:.3f} |"
                              for name, (bare, profiled) in rates.items()])
