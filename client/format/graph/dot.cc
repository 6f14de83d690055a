// dot: who calls whom, as a graph for Graphviz.
//
// A box for each function with its own and its total share of all time, an arrow for calls, with
// the share of what is below. So that the graph can be read, however large the profile is,
// functions with little time are left out: between others an arrow passes over them, and what they
// have themselves is one box, (rest). Who waits for whom is another graph: wait_dot.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "client/format/exporter.h"
#include "client/format/graph/call_graph.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"
#include "client/text/number.h"
#include "client/text/text.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostFunctions = 60;
constexpr std::size_t kMostArrows = 120;  // with more, Graphviz takes minutes
constexpr double kLeastShare = 0.005;     // of all time: of a function, of an arrow
constexpr double kShownPart = 0.05;       // of a function's time: of a state that its box names
constexpr double kWidest = 8;             // points
constexpr std::size_t kWidestName = 60;   // columns
constexpr double kLeastFont = 10;
constexpr double kMoreFont = 16;  // of a function that has all time

constexpr std::string_view kStyle =
    "  graph [rankdir=TB, labelloc=t, fontname=\"sans-serif\", fontsize=12, nodesep=0.3, "
    "ranksep=0.45]\n"
    "  node [shape=box, style=filled, fillcolor=\"#ffffff\", color=\"#5a5a5a\", "
    "fontname=\"sans-serif\", fontsize=10]\n"
    "  edge [color=\"#7d7d7d\", fontname=\"sans-serif\", fontsize=9]\n";
// Of boxes and of arrows, in the order of TimePart.
constexpr std::array<std::string_view, kParts> kFill{"#f8d2b8", "#dcc6e6", "#fbe68f", "#ccd5e8",
                                                     "#dedede"};
constexpr std::array<std::string_view, kParts> kLine{"#c14d08", "#7d3c98", "#b39000", "#5f6f90",
                                                     "#7d7d7d"};

std::size_t LargestPart(const ReportTime& time) {
  const auto largest = std::ranges::max_element(time.parts, {}, &SampledTime::ns);
  return static_cast<std::size_t>(largest - time.parts.begin());
}

// "blocked 90.0 %, working 10.0 %"
std::string PartsText(const ReportTime& time) {
  std::array<std::size_t, kParts> order{};
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t part) { return time.parts[part].ns; });
  std::string text;
  for (const std::size_t part : order) {
    const std::uint64_t ns = time.parts[part].ns;
    if (ns == 0 || ShareOf(ns, time.all().ns) < kShownPart) continue;
    text += (text.empty() ? "" : ", ") + std::string(PartName(static_cast<TimePart>(part))) + " " +
            FormatShare(ns, time.all().ns);
  }
  return text;
}

// The functions that are shown, most time first, and the stacks of these.
class Shown {
 public:
  explicit Shown(const PlaceTree& tree) : number_(tree.functions.size(), kNone) {
    const CallGraph whole = CallGraph::Of(tree);
    std::uint64_t all_ns = 0;
    for (const auto& [place, time] : whole.self) all_ns += time.all().ns;
    std::vector<std::uint32_t> order(tree.functions.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t function) {
      return whole.totals[function].all().ns;
    });
    for (const std::uint32_t function : order) {
      const std::uint64_t ns = whole.totals[function].all().ns;
      if (ns == 0) break;
      if (tree_.functions.size() == kMostFunctions || ShareOf(ns, all_ns) < kLeastShare) {
        ++others_;
        continue;
      }
      number_[function] = static_cast<std::uint32_t>(tree_.functions.size());
      tree_.functions.push_back(tree.functions[function]);
    }
    tree_.functions.push_back({"(rest)", "", ""});
    Reduce(tree);
  }

  [[nodiscard]] const PlaceTree& tree() const { return tree_; }
  [[nodiscard]] std::size_t others() const { return others_; }
  [[nodiscard]] std::uint32_t rest() const {
    return static_cast<std::uint32_t>(tree_.functions.size() - 1);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  void Reduce(const PlaceTree& tree) {
    tree_.nodes.resize(1);
    std::vector<std::uint32_t> kept{0};            // by node: the one that stands for it
    std::map<std::uint32_t, std::uint32_t> rests;  // by what they hang on
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const PlaceTree::Node& node = tree.nodes[i];
      const std::uint32_t parent = kept[node.parent];
      const std::uint32_t function = number_[node.place.function];
      const auto next = static_cast<std::uint32_t>(tree_.nodes.size());
      if (function != kNone) {
        tree_.nodes.push_back({parent, {function, 0}, node.self});
        kept.push_back(next);
        continue;
      }
      kept.push_back(parent);
      if (node.self.all().ns == 0) continue;
      const auto [known, is_new] = rests.try_emplace(parent, next);
      if (is_new) tree_.nodes.push_back({parent, {rest(), 0}, {}});
      tree_.nodes[known->second].self += node.self;
    }
  }

  std::vector<std::uint32_t> number_;  // by function: as it is shown
  PlaceTree tree_;
  std::size_t others_ = 0;
};

class Writer {
 public:
  Writer(const v1::Profile& profile, const Shown& shown, std::ostream& out)
      : profile_(profile),
        shown_(shown),
        graph_(CallGraph::Of(shown.tree())),
        self_(graph_.totals.size()),
        out_(out) {
    for (const auto& [place, time] : graph_.self) {
      self_[place.function] += time;
      all_ns_ += time.all().ns;
    }
    for (const auto& [call, time] : graph_.calls)
      calls_[{call.first.function, call.second}] += time;
  }

  void Write(const std::string& title) {
    const std::uint64_t left_out_ns = LeaveOutArrows();
    out_ << "digraph calls {\n"
         << kStyle << "  label=" << QuoteDot(HeadText(title, left_out_ns)) << "\n";
    for (std::uint32_t i = 0; i < self_.size(); ++i)
      if (graph_.totals[i].all().ns > 0) WriteFunction(i);
    for (const auto& [call, time] : calls_) WriteCall(call, time);
    out_ << "}\n";
  }

 private:
  std::uint64_t LeaveOutArrows() {
    std::vector<std::uint64_t> order;
    order.reserve(calls_.size());
    for (const auto& [call, time] : calls_) order.push_back(time.all().ns);
    std::ranges::sort(order, std::ranges::greater());
    // Equal ones stay or go together.
    const std::uint64_t least_ns = order.size() > kMostArrows ? order[kMostArrows] + 1 : 1;
    std::uint64_t left_out_ns = 0;
    for (auto at = calls_.begin(); at != calls_.end();) {
      const std::uint64_t ns = at->second.all().ns;
      const bool is_shown = ns >= least_ns && ShareOf(ns, all_ns_) >= kLeastShare;
      if (!is_shown) left_out_ns += ns;
      at = is_shown ? std::next(at) : calls_.erase(at);
    }
    return left_out_ns;
  }

  [[nodiscard]] std::string HeadText(const std::string& title, std::uint64_t left_out_ns) const {
    std::string text = "Who calls whom: " + title + "\n" + FormatDuration(LengthNs(profile_)) +
                       ", " + FormatCount(ThreadCount(profile_), "thread") + ", " +
                       FormatDuration(all_ns_) +
                       " of all threads, of which shares are\n"
                       "own time is mostly: orange working, violet spinning, yellow runnable, blue "
                       "blocked";
    if (shown_.others() > 0)
      text += "\narrows pass over functions that are left out: these have less than " +
              FormatShare(kLeastShare) + ", or " + std::to_string(kMostFunctions) +
              " others have more";
    if (left_out_ns > 0)
      text += "\narrows of little time are left out: " + FormatDuration(left_out_ns) + " in all";
    return text;
  }

  [[nodiscard]] std::string FunctionText(std::uint32_t i) const {
    std::string text;
    if (i == shown_.rest()) {
      text = "(rest)\nof " + FormatCount(shown_.others(), "function") + " that are left out";
    } else {
      const GraphFunction& function = shown_.tree().functions[i];
      text = CutMiddle(function.name, kWidestName);
      const std::string& place = function.module.empty() ? function.file : function.module;
      if (!place.empty()) text += "\n" + CutMiddle(BaseName(place), kWidestName);
    }
    const std::uint64_t self_ns = self_[i].all().ns;
    const std::uint64_t total_ns = graph_.totals[i].all().ns;
    if (self_ns > 0) text += "\nself " + FormatShare(self_ns, all_ns_);
    if (total_ns > self_ns)
      text += (self_ns > 0 ? " of " : "\ntotal ") + FormatShare(total_ns, all_ns_);
    return text + "\n" + PartsText(graph_.totals[i]);
  }

  void WriteFunction(std::uint32_t i) {
    const double self = ShareOf(self_[i].all().ns, all_ns_);
    out_ << "  f" << i << " [label=" << QuoteDot(FunctionText(i))
         << ", fontsize=" << FormatDecimals(kLeastFont + kMoreFont * std::sqrt(self), 1);
    if (self >= kLeastShare) out_ << ", fillcolor=\"" << kFill[LargestPart(self_[i])] << '"';
    if (i == shown_.rest()) out_ << ", style=\"filled,dashed\"";
    out_ << "]\n";
  }

  void WriteCall(const std::pair<std::uint32_t, std::uint32_t>& call, const ReportTime& time) {
    const double share = ShareOf(time.all().ns, all_ns_);
    out_ << "  f" << call.first << " -> f" << call.second
         << " [label=" << QuoteDot(FormatShare(share))
         << ", weight=" << 1 + std::lround(share * 100)
         << ", penwidth=" << FormatDecimals(1 + (kWidest - 1) * share, 2) << ", color=\""
         << kLine[LargestPart(time)] << "\"]\n";
  }

  const v1::Profile& profile_;
  const Shown& shown_;
  const CallGraph graph_;
  std::uint64_t all_ns_ = 0;
  std::vector<ReportTime> self_;                                         // by function
  std::map<std::pair<std::uint32_t, std::uint32_t>, ReportTime> calls_;  // caller, called
  std::ostream& out_;
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const Shown shown(PlaceTree::Of(profile, options));
  Writer(profile, shown, out)
      .Write(options.title.empty() ? TitleOf(profile) : SafeName(options.title));
  return FinishStream(out);
}

}  // namespace

Exporter DotExporter() {
  return {.name = "dot",
          .extensions = {".dot", ".gv"},
          .about = "a graph of who calls whom",
          .viewers = "Graphviz (dot -Tsvg), xdot",
          .write = Write};
}

}  // namespace profd::client
