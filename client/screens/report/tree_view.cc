#include "client/screens/report/tree_view.h"

#include <utility>
#include <vector>

#include "client/text/number.h"
#include "client/text/table.h"

namespace profd::client {
namespace {

constexpr std::size_t kWideEnough = 100;  // columns; from here on there are states
constexpr std::size_t kMostRows = 2000;   // of a tree for people
constexpr double kLeastRest = 0.0005;     // of all time: what is less is not worth a line
constexpr const char* kSelfText = "[self]";

std::string NameOf(const CallNode& node) {
  if (node.hidden == 0) return node.name;
  return node.name + " (" + FormatCount(node.hidden, "function") + " hidden)";
}

// A node, or what stands below it: its own time, and what is too light to be shown.
struct Line {
  std::uint32_t node = 0;
  enum class Kind { kNode, kSelf, kRest } kind = Kind::kNode;
  std::size_t rest = 0;
  ReportTime time = {};
};

class Lines {
 public:
  Lines(const CallTree& tree, const ReportScale& scale, const TreeCut& cut,
        const ReportViewOptions& options)
      : tree_(tree),
        scale_(scale),
        cut_(cut),
        parts_(tree.nodes[0].total),
        wide_(options.width >= kWideEnough),
        table_(ColumnsOf()) {}

  std::string Render(const ReportViewOptions& options) {
    open_.push_back({.node = 0});
    while (!open_.empty()) {
      const Line line = open_.back();
      open_.pop_back();
      Show(line);
      if (line.kind == Line::Kind::kNode) Open(line.node);
      if (++rows_ == kMostRows && !open_.empty()) {
        table_.AddRow({"", "", "... the tree goes on: --limit and --depth show less of it"});
        break;
      }
    }
    return table_.Render(options.width, options.palette);
  }

 private:
  [[nodiscard]] std::vector<Column> ColumnsOf() const {
    std::vector<Column> columns{{"total", Align::kRight, Shrink::kNever, Tone::kStrong},
                                {"self", Align::kRight}};
    for (std::size_t i = 0; wide_ && i < parts_.size(); ++i)
      columns.push_back({parts_.name(i), Align::kRight, Shrink::kNever, parts_.tone(i)});
    columns.push_back({"", Align::kLeft, Shrink::kMiddle});
    return columns;
  }

  [[nodiscard]] bool IsShown(const ReportTime& time) const {
    return ShareOf(time.all().ns, tree_.all_ns) >= cut_.least_share;
  }

  // What is below a node, the last first: it is taken from the back.
  void Open(std::uint32_t number) {
    const CallNode& node = tree_.nodes[number];
    if (node.children.empty()) return;
    Line rest{.node = number, .kind = Line::Kind::kRest};
    std::vector<Line> below;
    for (const std::uint32_t child : node.children) {
      if (node.depth < cut_.depth && IsShown(tree_.nodes[child].total)) {
        below.push_back({.node = child});
        continue;
      }
      ++rest.rest;
      rest.time += tree_.nodes[child].total;
    }
    if (ShareOf(rest.time.all().ns, tree_.all_ns) >= kLeastRest) open_.push_back(rest);
    if (!tree_.outwards && !below.empty() && IsShown(node.self))
      open_.push_back({.node = number, .kind = Line::Kind::kSelf, .time = node.self});
    open_.insert(open_.end(), below.rbegin(), below.rend());
  }

  void Show(const Line& line) {
    const CallNode& node = tree_.nodes[line.node];
    const bool own = line.kind == Line::Kind::kNode;
    const ReportTime& time = own ? node.total : line.time;
    std::vector<std::string> cells{scale_.Cell(time.all())};
    const bool has_self = !tree_.outwards && line.kind != Line::Kind::kRest;
    cells.push_back(has_self ? scale_.Cell(node.self.all()) : "");
    for (std::size_t i = 0; wide_ && i < parts_.size(); ++i)
      cells.push_back(scale_.Cell(parts_.Of(time, i)));
    const std::string name = own ? NameOf(node)
                             : line.kind == Line::Kind::kSelf
                                 ? std::string(kSelfText)
                                 : "... and " + FormatCount(line.rest) + " more";
    cells.push_back(std::string(std::size_t{2} * (node.depth + (own ? 0 : 1)), ' ') + name);
    table_.AddRow(std::move(cells));
  }

  const CallTree& tree_;
  const ReportScale& scale_;
  const TreeCut& cut_;
  const ReportParts parts_;
  const bool wide_;
  Table table_;
  std::vector<Line> open_;
  std::size_t rows_ = 0;
};

}  // namespace

std::string RenderTree(const CallTree& tree, const std::string& title, const ReportScale& scale,
                       const TreeCut& cut, const ReportViewOptions& options) {
  return options.palette.Paint(Tone::kFaint, title + ", " + scale.Name()) + "\n" +
         Lines(tree, scale, cut, options).Render(options);
}

ReportSheet SheetOf(const CallTree& tree) {
  ReportSheet sheet;
  sheet.total_ns = tree.all_ns;
  sheet.columns = {"depth", "name", "hidden_functions"};
  for (const char* prefix : {"total_", "self_"})
    for (std::string& column : TimeColumns(prefix)) sheet.columns.push_back(std::move(column));
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const CallNode& node = tree.nodes[open.back()];
    open.pop_back();
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(std::uint64_t{node.depth});
    cells.emplace_back(node.name);
    cells.emplace_back(std::uint64_t{node.hidden});
    AddTimeCells(node.total, cells);
    AddTimeCells(node.self, cells);
    open.insert(open.end(), node.children.rbegin(), node.children.rend());
  }
  return sheet;
}

}  // namespace profd::client
