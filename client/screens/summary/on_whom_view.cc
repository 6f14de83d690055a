#include "client/screens/summary/on_whom_view.h"

#include <algorithm>
#include <vector>

#include "client/profile/on_whom.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/hot_paths.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kRowsWhenComplete = 16;
constexpr double kShownShare = 0.0005;  // what FormatShare does not round to nothing
constexpr double kWaitingShare = 0.01;  // of its time; below it a row hardly waits
constexpr std::size_t kWidestChain = 60;
constexpr std::size_t kWidestDetail = 100;

// "engine-worker < the disk"; threads of the same name in other processes are "others".
std::string ChainText(const WhomRow& row) {
  if (row.steps.size() == 1 && row.end() == v1::PATH_TIMER) return "its own timer";
  std::string text;
  std::string_view before;
  for (const WhomStep& step : row.steps) {
    const bool alike = !before.empty() && step.name.ends_with("/" + std::string(before));
    text += (text.empty() ? "" : " < ") + (alike ? "others" : step.name);
    if (step.several && !alike) text += " (several)";
    before = step.name;
  }
  return text;
}

std::string DetailText(const v1::Profile& profile, const WhomRow& row, std::size_t width) {
  std::string lead(row.steps.empty() ? "" : HowName(row.steps.front().how));
  if (!lead.empty()) lead += ", ";
  if (row.end() == v1::PATH_NO_CPU) return lead + "has no CPU";
  if (row.end() == v1::PATH_RUNS) lead += "runs ";
  HotPath path = CommonPath(profile, row.stacks);
  // Where threads of one kind begin says nothing here.
  constexpr std::size_t kShownFrames = 4;
  path.fork = path.frames.size() - std::min(path.frames.size(), kShownFrames);
  if (path.frames.empty()) return row.end() == v1::PATH_RUNS ? std::string("runs") : std::string();
  const std::size_t used = DisplayWidth(lead);
  return lead + PathText(path, width > used + 10 ? width - used : 10);
}

// The rows of a table: those of which something is known, most first, and the others by cause.
struct Parted {
  std::vector<const WhomRow*> known;
  std::vector<std::pair<v1::PathKind, std::uint64_t>> unknown;
  std::uint64_t total_ns = 0;
};

Parted Part(const std::vector<WhomRow>& all) {
  Parted parted;
  for (const WhomRow& one : all) {
    parted.total_ns += one.ns;
    if (!IsUnknown(one.end())) {
      parted.known.push_back(&one);
      continue;
    }
    const auto same =
        std::ranges::find(parted.unknown, one.end(), [](const auto& u) { return u.first; });
    if (same == parted.unknown.end())
      parted.unknown.emplace_back(one.end(), one.ns);
    else
      same->second += one.ns;
  }
  std::ranges::stable_sort(parted.unknown, std::greater<>{},
                           [](const auto& one) { return one.second; });
  return parted;
}

// How wide the columns of shares are.
struct Margin {
  std::size_t share = 0;
  std::size_t reach = 0;

  [[nodiscard]] std::string Line(const std::string& share_text, const std::string& reach_text,
                                 const std::string& rest) const {
    return PadLeft(share_text, share) + PadRight(reach_text, reach) + "  " + rest + "\n";
  }
};

// Rows that have their lines; they rest on `total_ns`. Sets the margin.
std::string KnownLines(const v1::Profile& profile, const std::vector<const WhomRow*>& rows,
                       std::uint64_t total_ns, const SummaryOptions& options, Margin& margin) {
  std::vector<std::string> shares;
  std::vector<std::string> reaches;
  std::vector<std::string> chains;
  std::size_t chain_width = 0;
  std::size_t word_width = 0;
  for (const WhomRow* one : rows) {
    shares.push_back(FormatSampledShare(ShareOf(one->ns, total_ns),
                                        IsRough(one->ns, one->points, one->exact_ns)));
    margin.share = std::max(margin.share, shares.back().size() + 1);
    reaches.push_back(FormatReach(ShareReach(one->error, total_ns).value_or(0)));
    margin.reach = std::max(margin.reach, reaches.back().size());
    chains.push_back(CutMiddle(ChainText(*one), kWidestChain));
    chain_width = std::max(chain_width, DisplayWidth(chains.back()));
    word_width = std::max(word_width, WaitName(one->wait).size());
  }
  // As above it: intervals take their columns from the margin first.
  constexpr std::size_t kShareWidth = 9;
  if (margin.reach == 0) margin.share = kShareWidth;
  const std::size_t fixed = margin.share + margin.reach + 2 + word_width + 2 + chain_width + 2;
  const std::size_t room =
      options.width > fixed + 16 ? std::min(options.width - fixed, kWidestDetail) : std::size_t{16};
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string line =
        options.palette.Paint(Tone::kBlocked, PadRight(WaitName(rows[i]->wait), word_width)) + "  ";
    const std::string detail = DetailText(profile, *rows[i], room);
    line += detail.empty() ? chains[i] : PadRight(chains[i], chain_width) + "  " + detail;
    out += margin.Line(shares[i], reaches[i], line);
  }
  return out;
}

}  // namespace

std::string RenderOnWhom(const v1::Profile& profile, const ThreadRow& row, const std::string& who,
                         const SummaryOptions& options) {
  if (!profile.wakers() || ShareOf(row.blocked_ns, row.elapsed_ns) < kWaitingShare) return {};
  const std::vector<WhomRow> all = OnWhom(profile, row.threads);
  auto [known, unknown, total_ns] = Part(all);
  if (total_ns == 0) return {};

  std::string head = "waits of " + who + " (";
  if (row.count > 1) head += FormatCount(row.threads.size(), "thread") + ", ";
  head += FormatDuration(total_ns) + " blocked): on whom";
  std::string out = options.palette.Paint(Tone::kFaint, CutMiddle(head, options.width)) + "\n";

  const double least = options.complete ? kShownShare : kShownShare * 10;
  const auto shown = std::ranges::count_if(
      known, [&](const WhomRow* one) { return ShareOf(one->ns, total_ns) >= least; });
  known.resize(
      std::min(static_cast<std::size_t>(shown), options.complete ? kRowsWhenComplete : kRows));
  Margin margin;
  out += KnownLines(profile, known, total_ns, options, margin);

  std::uint64_t left_ns = total_ns;
  for (const WhomRow* one : known) left_ns -= one->ns;
  std::string causes;
  std::uint64_t unknown_ns = 0;
  for (const auto& [kind, ns] : unknown) {
    unknown_ns += ns;
    if (ShareOf(ns, total_ns) < kShownShare) continue;
    causes += (causes.empty() ? "" : ", ") + std::string(UnknownName(kind)) + " " +
              FormatShare(ShareOf(ns, total_ns));
  }
  left_ns -= unknown_ns;
  if (ShareOf(left_ns, total_ns) >= kShownShare)
    out += margin.Line(FormatShare(left_ns, total_ns), "", "(other paths)");
  if (!causes.empty()) out += margin.Line(FormatShare(unknown_ns, total_ns), "", causes);
  return out;
}

}  // namespace profd::client
