#include "client/format/diff_text.h"

#include <fmt/format.h>

#include <cmath>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "client/format/folded.h"
#include "client/profile/share_error.h"
#include "client/text/escape.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;

std::string_view KindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kKernel:
      return "kernel";
    case NodeKind::kPython:
      return "python";
    case NodeKind::kJit:
      return "jit";
    case NodeKind::kPseudo:
      return "pseudo";
    case NodeKind::kWorking:
      return "working";
    case NodeKind::kSpinning:
      return "spinning";
    case NodeKind::kRunnable:
      return "runnable";
    case NodeKind::kBlocked:
      return "blocked";
    default:
      return "native";
  }
}

// Writes members of objects and lists with the commas between them.
class Json {
 public:
  explicit Json(std::ostream& out) : out_(out) {}

  void Open(char bracket) { out_ << std::exchange(comma_, "") << bracket; }
  void Close(char bracket) {
    out_ << bracket;
    comma_ = ",\n";
  }
  void Key(std::string_view name) { out_ << std::exchange(comma_, "") << '"' << name << "\":"; }
  void Text(std::string_view name, std::string_view text) {
    Key(name);
    out_ << QuoteJson(text);
    comma_ = ",";
  }
  void Item(std::string_view text) { out_ << std::exchange(comma_, ",") << QuoteJson(text); }
  void Number(std::string_view name, std::uint64_t number) {
    if (!IsJsonNumber(number)) return Text(name, std::to_string(number));
    Key(name);
    out_ << number;
    comma_ = ",";
  }
  void Number(std::string_view name, double number) {
    Key(name);
    out_ << fmt::format("{:.9g}", number);
    comma_ = ",";
  }
  void Time(const DiffTime& time, const Diff& of) {
    Number("a_ns", time.a_ns);
    Number("b_ns", time.b_ns);
    Number("a_samples", time.a_count);
    Number("b_samples", time.b_count);
    Bounds("a", time.a_error, of.a.total_ns, of.scale);
    Bounds("b", time.b_error, of.b.total_ns, 1);
  }

 private:
  // The 95 % interval of a time.
  void Bounds(const std::string& side, const ErrorSum& error, std::uint64_t total_ns,
              double scale) {
    const double unscaled = static_cast<double>(total_ns) / scale;
    const auto interval = ShareInterval(error, static_cast<std::uint64_t>(std::llround(unscaled)));
    if (!interval) return;
    const auto whole = [&](double share) {
      return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(total_ns)));
    };
    Number(side + "_low_ns", whole(interval->low));
    Number(side + "_high_ns", whole(interval->high));
  }

  std::ostream& out_;
  const char* comma_ = "";
};

void WriteSide(std::string_view key, const DiffSide& side, Json& json) {
  json.Key(key);
  json.Open('{');
  json.Text("name", side.name);
  json.Text("title", side.title);
  json.Number("elapsed_ns", side.elapsed_ns);
  json.Number("start_unix_ns", side.start_unix_ns);
  json.Number("threads", side.threads);
  json.Number("samples", side.samples);
  json.Number("lost", side.lost);
  json.Number("total_ns", side.total_ns);
  json.Close('}');
}

void WriteStates(const std::vector<DiffState>& states, const Diff& diff, Json& json) {
  json.Key("states");
  json.Open('[');
  for (const DiffState& state : states) {
    json.Open('{');
    json.Text("state", KindName(state.kind));
    json.Text("name", state.name);
    json.Time(state.time, diff);
    json.Close('}');
  }
  json.Close(']');
}

void WriteFunctions(const Diff& diff, Json& json) {
  json.Key("functions");
  json.Open('[');
  for (const DiffFunction& function : DiffFunctions(diff, KernelFunctions::kApart)) {
    json.Open('{');
    json.Text("name", function.name);
    json.Text("kind", KindName(function.kind));
    json.Key("total");
    json.Open('{');
    json.Time(function.total, diff);
    json.Close('}');
    json.Key("self");
    json.Open('{');
    json.Time(function.self, diff);
    json.Close('}');
    WriteStates(function.states, diff, json);
    json.Close('}');
  }
  json.Close(']');
}

void WriteStacks(const Diff& diff, Json& json) {
  const std::vector<TreeNode>& nodes = diff.tree.nodes;
  std::vector<std::uint32_t> path;
  json.Key("stacks");
  json.Open('[');
  for (const std::uint32_t node : diff.tree.ByName()) {
    if (diff.self[node].empty()) continue;
    path.clear();
    for (std::uint32_t i = node; i != 0; i = nodes[i].parent) path.push_back(i);
    json.Open('{');
    json.Time(diff.self[node], diff);
    json.Key("frames");
    json.Open('[');
    for (const std::uint32_t i : std::views::reverse(path))
      json.Item(diff.tree.labels[nodes[i].label]);
    json.Close(']');
    json.Close('}');
  }
  json.Close(']');
}

}  // namespace

Result<void> WriteDiffFolded(const Diff& diff, std::ostream& out) {
  const std::vector<TreeNode>& nodes = diff.tree.nodes;
  std::vector<DiffTime> self = diff.self;
  for (std::size_t i = nodes.size(); i-- > 1;)
    if (nodes[i].kind == NodeKind::kWorking) self[nodes[i].parent] += std::exchange(self[i], {});
  const std::vector<std::uint32_t> order = diff.tree.ByName();
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  for (const std::uint32_t node : order) {
    a.push_back(self[node].a_ns);
    b.push_back(self[node].b_ns);
  }
  a = RoundToSum(a, kNsPerUs);
  b = RoundToSum(b, kNsPerUs);
  std::string stack;
  std::vector<std::size_t> ends(nodes.size(), 0);  // bytes of the stack up to this node
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TreeNode& node = nodes[order[i]];
    stack.resize(ends[node.parent]);
    if (node.parent != 0) stack += ';';
    stack += diff.tree.labels[node.label];
    ends[order[i]] = stack.size();
    if (a[i] > 0 || b[i] > 0) out << stack << ' ' << a[i] << ' ' << b[i] << '\n';
  }
  return FinishStream(out);
}

Result<void> WriteDiffJson(const Diff& diff, std::ostream& out) {
  Json json(out);
  json.Open('{');
  json.Text("format", "profd-diff");
  json.Number("version", std::uint64_t{1});
  WriteSide("a", diff.a, json);
  WriteSide("b", diff.b, json);
  json.Number("scale_of_a", diff.scale);
  WriteStates(DiffStates(diff), diff, json);
  WriteFunctions(diff, json);
  WriteStacks(diff, json);
  json.Close('}');
  out << '\n';
  return FinishStream(out);
}

}  // namespace profd::client
