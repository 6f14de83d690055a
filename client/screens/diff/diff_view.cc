#include "client/screens/diff/diff_view.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "client/profile/diff.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostFunctions = 20;
constexpr std::size_t kWide = 100;     // columns from which on there is a column for `self`
constexpr double kLeastShare = 0.001;  // of all time; smaller changes are not worth a row

std::uint64_t Size(const DiffTime& time) {
  return static_cast<std::uint64_t>(std::llabs(time.change_ns()));
}

// "+600 ms", "~-12.0 ms", "0".
std::string Change(const DiffTime& time, const ComparedTimes& of) {
  if (time.change_ns() == 0) return "0";
  return (IsNoise(time, of) ? "~" : "") + std::string(time.change_ns() < 0 ? "-" : "+") +
         FormatDuration(Size(time));
}

std::string Percent(const DiffTime& time) {
  if (time.empty()) return "";
  if (time.a_ns == 0) return "new";
  if (time.b_ns == 0) return "gone";
  const double percent =
      100 * static_cast<double>(time.change_ns()) / static_cast<double>(time.a_ns);
  return FormatChange(percent, std::fabs(percent) < 999.5 ? 1 : 0);
}

std::string Time(std::uint64_t ns) { return ns == 0 ? "0" : FormatDuration(ns); }

std::string Side(const char* letter, const DiffSide& side, const DiffViewOptions& options) {
  const std::string facts = "   " + FormatDuration(side.elapsed_ns) + ", " +
                            FormatCount(side.threads, "thread") + ", " + FormatCount(side.samples) +
                            " samples, " + FormatCount(side.lost) + " lost";
  const std::size_t used = facts.size() + 3;
  const std::size_t room = options.width > used ? options.width - used : 0;
  const std::string what = SafeText(side.name) + "   " + SafeText(side.title);
  return options.palette.Paint(Tone::kStrong, letter) + "  " +
         CutMiddle(what, std::max<std::size_t>(room, 20)) + facts + "\n";
}

std::string Scaling(const Diff& diff) {
  if (diff.scale == 1) return "";
  return "times of A are multiplied by " + FormatFactor(diff.scale) +
         ", as if it were as long as B (--absolute)\n";
}

std::string States(const Diff& diff, const DiffViewOptions& options) {
  Table table({{"state", Align::kLeft, Shrink::kNever, Tone::kPlain},
               {"A", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"B", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"change", Align::kRight, Shrink::kNever, Tone::kStrong},
               {"", Align::kRight, Shrink::kNever, Tone::kPlain}});
  const std::vector<DiffState> states = DiffStates(diff);
  const ComparedTimes of{diff.scale, states.size()};
  const auto add = [&](const std::string& name, const DiffTime& time) {
    table.AddRow({name, Time(time.a_ns), Time(time.b_ns), Change(time, of), Percent(time)});
  };
  for (const DiffState& state : states)
    add((state.kind == NodeKind::kBlocked ? "blocked: " : "") + state.name, state.time);
  add("all", diff.total[0]);
  return table.Render(options.width, options.palette);
}

// "running +600 ms, lock -20.0 ms": states whose change is more than chance, the largest first; all
// where there is none.
std::string StateChanges(std::vector<DiffState> states, const ComparedTimes& of) {
  std::ranges::stable_sort(states, std::greater<>{},
                           [](const DiffState& state) { return Size(state.time); });
  std::string text;
  for (const DiffState& state : states)
    if (state.time.change_ns() != 0 && !IsNoise(state.time, of))
      text += (text.empty() ? "" : ", ") + state.name + " " + Change(state.time, of);
  return text;
}

bool IsWorthARow(const DiffFunction& function, std::uint64_t all_ns, const ComparedTimes& of) {
  const auto changed = [&](const DiffTime& time) {
    return !IsNoise(time, of) &&
           static_cast<double>(Size(time)) >= kLeastShare * static_cast<double>(all_ns);
  };
  // What a function's callees do in another state now is said of them.
  return changed(function.total) || changed(function.self) ||
         (!function.self.empty() &&
          std::ranges::any_of(function.states, changed, &DiffState::time));
}

std::string Functions(const Diff& diff, const DiffViewOptions& options) {
  std::vector<DiffFunction> functions = DiffFunctions(
      diff, options.complete ? KernelFunctions::kApart : KernelFunctions::kPartOfCaller);
  const std::size_t known = functions.size();
  const ComparedTimes of{diff.scale, known};
  if (!options.complete) {
    const std::uint64_t all = std::max(diff.a.total_ns, diff.b.total_ns);
    std::erase_if(functions,
                  [&](const DiffFunction& function) { return !IsWorthARow(function, all, of); });
    if (functions.size() > kMostFunctions) functions.resize(kMostFunctions);
  }
  if (functions.empty())
    return known == 0 ? "" : "no function changed by more than may be chance; all with -v\n";
  Table table({{"function", Align::kLeft, Shrink::kMiddle, Tone::kPlain},
               {"A", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"B", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"change", Align::kRight, Shrink::kNever, Tone::kStrong},
               {"self", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"states", Align::kLeft, Shrink::kList, Tone::kPlain}});
  for (const DiffFunction& function : functions)
    table.AddRow({SafeText(function.name), Time(function.total.a_ns), Time(function.total.b_ns),
                  Change(function.total, of),
                  function.self.empty() || options.width < kWide ? "" : Change(function.self, of),
                  StateChanges(function.states, of)});
  std::string text = table.Render(options.width, options.palette);
  if (known > functions.size())
    text +=
        options.palette.Paint(
            Tone::kFaint, FormatCount(known - functions.size()) +
                              " more functions changed less, or no more than may be chance: -v") +
        "\n";
  return text;
}

}  // namespace

std::string RenderDiff(const Diff& diff, const DiffViewOptions& options) {
  std::string text = Side("A", diff.a, options) + Side("B", diff.b, options) + Scaling(diff) +
                     "\n" + States(diff, options) + "\n" + Functions(diff, options);
  if (!options.footer.empty())
    text += "\n" + options.palette.Paint(Tone::kFaint, options.footer) + "\n";
  return text;
}

}  // namespace profd::client
