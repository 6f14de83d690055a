// csv: a row per distinct stack of a thread in a state, with its labels, for spreadsheets and data
// frames.
//
// Rows add up to the time of the profile; the one with most time is the first. RFC 4180, UTF-8,
// lines end with a newline alone. A text that a spreadsheet would take for a formula stands behind
// an apostrophe: names come from other processes.
#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/format/exporter.h"
#include "client/profile/check_profile.h"
#include "client/profile/counters/counts.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/on_whom.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/profile/stack_tree.h"

namespace profd::client {
namespace {

constexpr std::string_view kColumns =
    "process,pid,thread,tid,state,wait,gil,class,operator,phase,labels,waits_for,path,samples,ns,"
    "function,module,file,line,stack";
// Only where hardware counters have counted.
constexpr std::string_view kCountColumns = ",counted_ns,cycles,instructions,cache_misses";
constexpr std::uint64_t kMaxBytes = 4ull << 30;  // of stacks, in all rows

// Also the wide forms, which some spreadsheets take for these.
constexpr std::array<std::string_view, 8> kFormulas{
    "=", "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"};

std::string Cell(std::string_view text) {
  const bool formula = std::ranges::any_of(
      kFormulas, [&](std::string_view begin) { return text.starts_with(begin); });
  if (!formula && text.find_first_of(",\"") == std::string_view::npos) return std::string(text);
  std::string quoted = formula ? "\"'" : "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// What distinguishes rows. Paths that read the same are one.
struct Key {
  std::uint32_t thread = 0;
  TimePart part = TimePart::kWorking;
  v1::WaitReason wait = v1::WAIT_NONE;
  v1::Gil gil = v1::GIL_NONE;
  v1::FrameClass frame_class = v1::CLASS_NONE;
  std::int64_t op = -1;  // of Operators.names()
  v1::Phase phase = v1::PHASE_NONE;
  std::uint32_t labels = 0;
  std::string waits_for = {};
  std::string path = {};
  std::uint32_t leaf = 0;  // of the tree
  friend auto operator<=>(const Key&, const Key&) = default;
};

struct Time {
  std::uint64_t samples = 0;
  std::uint64_t ns = 0;
  Counts counts{};
};

class Table {
 public:
  Table(const v1::Profile& profile, const StackTree& tree)
      : profile_(profile), counted_(HasCounts(profile)), tree_(tree), operators_(profile) {
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
      Time& time = rows_[KeyOf(i)];
      time.samples += profile.samples().count(i);
      time.ns += profile.samples().weight_ns(i);
      time.counts += CountsAt(profile.samples(), i);
    }
  }

  [[nodiscard]] std::uint64_t Bytes() const {
    std::vector<std::uint64_t> of_node{0};
    of_node.reserve(tree_.nodes.size());
    for (std::size_t i = 1; i < tree_.nodes.size(); ++i)
      of_node.push_back(of_node[tree_.nodes[i].parent] + tree_.labels[tree_.nodes[i].label].size() +
                        1);
    std::uint64_t bytes = 0;
    for (const auto& [key, time] : rows_) bytes += of_node[key.leaf];
    return bytes;
  }

  void Write(std::ostream& out) const {
    using Row = const std::pair<const Key, Time>*;
    std::vector<Row> order;
    order.reserve(rows_.size());
    for (const auto& row : rows_) order.push_back(&row);
    std::ranges::stable_sort(order, std::ranges::greater(), [](Row row) { return row->second.ns; });
    out << kColumns << (counted_ ? kCountColumns : "") << '\n';
    for (const Row row : order) WriteRow(row->first, row->second, out);
  }

 private:
  Key KeyOf(int i) {
    const v1::Samples& samples = profile_.samples();
    Key key{.thread = samples.thread(i),
            .part = PartOf(profile_, i),
            .wait = samples.wait(i),
            .gil = GilOf(samples, i),
            .phase = operators_.PhaseOf(i),
            .labels = LabelsOf(profile_, i),
            .leaf = tree_.leaves[static_cast<std::size_t>(i)]};
    if (const v1::Rule* rule = RuleOf(profile_, i)) key.frame_class = rule->frame_class();
    if (const auto op = operators_.OperatorOf(i)) key.op = *op;
    std::tie(key.waits_for, key.path) = PathOf(i);
    return key;
  }

  // The first thread that is waited for, and the whole path.
  std::pair<std::string, std::string> PathOf(int i) {
    const v1::Samples& samples = profile_.samples();
    if (samples.state(i) != v1::STATE_BLOCKED || samples.path_size() == 0) return {};
    const std::uint32_t path = samples.path(i);
    if (path == 0) return {};
    const std::uint32_t process = profile_.threads(static_cast<int>(samples.thread(i))).process();
    const auto [known, is_new] = paths_.try_emplace({process, path});
    if (!is_new) return known->second;
    WhomWords words = WordsOf(profile_, path, profile_.processes(static_cast<int>(process)).pid());
    return known->second = {std::move(words.waits_for), std::move(words.path)};
  }

  void WriteRow(const Key& key, const Time& time, std::ostream& out) const {
    const v1::Thread& thread = profile_.threads(static_cast<int>(key.thread));
    const v1::Process& process = profile_.processes(static_cast<int>(thread.process()));
    out << Cell(SafeName(process.comm())) << ',';
    if (process.pid() != 0) out << process.pid();
    out << ',' << Cell(SafeName(thread.comm())) << ',';
    if (thread.tid() != 0) out << thread.tid();
    const std::string labels = LabelsText(profile_, key.labels);
    for (const std::string_view text :
         {PartName(key.part), WaitName(key.wait), GilName(key.gil), ClassName(key.frame_class),
          key.op < 0 ? std::string_view()
                     : std::string_view(operators_.names()[static_cast<std::size_t>(key.op)]),
          PhaseName(key.phase), std::string_view(labels), std::string_view(key.waits_for),
          std::string_view(key.path)})
      out << ',' << Cell(text);
    out << ',' << time.samples << ',' << time.ns << ',';
    WriteStack(key.leaf, out);
    if (counted_)
      for (const std::uint64_t number : {time.counts.counted_ns, time.counts.cycles,
                                         time.counts.instructions, time.counts.cache_misses})
        out << ',' << number;
    out << '\n';
  }

  void WriteStack(std::uint32_t leaf, std::ostream& out) const {
    // The root stands for all, and what hangs on it for the process.
    std::vector<std::string_view> labels;
    std::size_t size = 0;
    for (std::uint32_t at = leaf; tree_.nodes[at].parent != 0; at = tree_.nodes[at].parent) {
      labels.push_back(tree_.labels[tree_.nodes[at].label]);
      size += labels.back().size() + 1;
    }
    const TreeNode& node = tree_.nodes[leaf];
    const v1::Frame* frame = node.frame == TreeNode::kNoFrame || labels.empty()
                                 ? nullptr
                                 : &profile_.frames(static_cast<int>(node.frame));
    out << (labels.empty() ? "" : Cell(labels.front())) << ',';
    if (frame != nullptr && !frame->module().empty()) out << Cell(SafeName(frame->module()));
    out << ',';
    if (frame != nullptr && !frame->file().empty()) out << Cell(SafeName(frame->file()));
    out << ',';
    if (node.first_line != 0 && node.first_line == node.last_line) out << node.first_line;
    std::string stack;
    stack.reserve(size);
    for (const std::string_view label : std::views::reverse(labels))
      stack.append(stack.empty() ? "" : ";").append(label);
    out << ',' << Cell(stack);
  }

  const v1::Profile& profile_;
  const bool counted_;  // hardware counters have counted
  const StackTree& tree_;
  const Operators operators_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::string, std::string>>
      paths_;  // by process and path
  std::map<Key, Time> rows_;
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  ExportOptions plain = options;
  plain.on_whom = PathDetail::kNone;  // it has columns
  const auto tree = StackTree::Build(profile, plain, StateFrames::kNone, StackRoots::kProcesses);
  if (!tree) return tree.error();
  const Table table(profile, *tree);
  if (table.Bytes() > kMaxBytes)
    return Error{ErrorCode::kExhausted, "the profile is too large for the csv format",
                 "write json or folded, or collect for a shorter time"};
  table.Write(out);
  return FinishStream(out);
}

}  // namespace

Exporter CsvExporter() {
  return {.name = "csv",
          .extensions = {".csv"},
          .about = "a row per stack, thread and state",
          .viewers = "spreadsheets, pandas, SQL",
          .write = Write};
}

}  // namespace profd::client
