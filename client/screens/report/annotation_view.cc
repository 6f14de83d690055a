#include "client/screens/report/annotation_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kNear = 2;          // lines shown before and behind one with time
constexpr std::size_t kNearCode = 8;      // instructions
constexpr std::size_t kWideEnough = 100;  // columns; from here on there are states
constexpr std::size_t kTabWidth = 4;

std::string WithoutTabs(std::string_view line) {
  std::string text;
  for (const char c : line) {
    if (c == '\t')
      text.append(kTabWidth - text.size() % kTabWidth, ' ');
    else if (c != '\r')
      text += c;
  }
  return text;
}

// Which texts are shown: those near time.
std::vector<bool> ShownOf(const Annotation& annotation, const std::vector<PlaceText>& texts) {
  const std::size_t near = annotation.kind == Annotation::Kind::kSource ? kNear : kNearCode;
  std::vector<bool> shown(texts.size(), false);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!annotation.places.contains(texts[i].place)) continue;
    const std::size_t begin = i - std::min(i, near);
    const std::size_t end = std::min(texts.size(), i + near + 1);
    for (std::size_t j = begin; j < end; ++j) shown[j] = true;
  }
  return shown;
}

class Lines {
 public:
  Lines(const Annotation& annotation, const ReportScale& scale, const ReportViewOptions& options)
      : annotation_(annotation),
        scale_(scale),
        wide_(options.width >= kWideEnough),
        parts_(SelfOf(annotation)),
        table_(Columns()) {}

  void Add(const PlaceTime* time, const std::string& label, const std::string& text) {
    const ReportTime none;
    const ReportTime& self = time == nullptr ? none : time->self;
    std::vector<std::string> cells{scale_.Cell(self.all())};
    if (HasTotal()) cells.push_back(time == nullptr ? "" : scale_.Cell(time->total.all()));
    for (std::size_t i = 0; wide_ && i < parts_.size(); ++i)
      cells.push_back(scale_.Cell(parts_.Of(self, i)));
    cells.push_back(label);
    cells.push_back(text);
    table_.AddRow(std::move(cells));
  }

  [[nodiscard]] std::string Render(const ReportViewOptions& options) const {
    return table_.Render(options.width, options.palette);
  }

 private:
  static ReportTime SelfOf(const Annotation& annotation) {
    ReportTime self;
    for (const auto& [place, time] : annotation.places) self += time.self;
    return self;
  }
  [[nodiscard]] bool HasTotal() const { return annotation_.kind == Annotation::Kind::kSource; }
  [[nodiscard]] std::vector<Column> Columns() const {
    std::vector<Column> columns{{"self", Align::kRight, Shrink::kNever, Tone::kStrong}};
    if (HasTotal()) columns.push_back({"total", Align::kRight});
    for (std::size_t i = 0; wide_ && i < parts_.size(); ++i)
      columns.push_back({parts_.name(i), Align::kRight, Shrink::kNever, parts_.tone(i)});
    columns.push_back(
        {HasTotal() ? "line" : "address", Align::kRight, Shrink::kNever, Tone::kFaint});
    columns.push_back({"", Align::kLeft, Shrink::kMiddle});
    return columns;
  }

  const Annotation& annotation_;
  const ReportScale& scale_;
  const bool wide_;
  const ReportParts parts_;
  Table table_;
};

// Time of places that no text is of: a file that was changed, or a function in several parts.
PlaceTime Elsewhere(const Annotation& annotation, const std::vector<PlaceText>& texts) {
  std::map<std::uint64_t, PlaceTime> left = annotation.places;
  for (const PlaceText& text : texts) left.erase(text.place);
  PlaceTime sum;
  for (const auto& [place, time] : left) sum.self += time.self;
  return sum;
}

}  // namespace

std::vector<PlaceText> LinesIn(std::string_view source) {
  std::vector<PlaceText> lines;
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(source.size(), line.size() + 1));
    const std::uint64_t number = lines.size() + 1;
    lines.push_back({number, std::to_string(number), SafeText(WithoutTabs(line))});
  }
  return lines;
}

std::string RenderAnnotation(const Annotation& annotation, const std::vector<PlaceText>& texts,
                             const ReportScale& scale, const ReportViewOptions& options) {
  Lines lines(annotation, scale, options);
  const std::vector<bool> shown = ShownOf(annotation, texts);
  bool gap = false;
  bool any = false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!shown[i]) {
      gap = any;
      continue;
    }
    if (std::exchange(gap, false)) lines.Add(nullptr, "...", "");
    any = true;
    const auto time = annotation.places.find(texts[i].place);
    lines.Add(time == annotation.places.end() ? nullptr : &time->second, texts[i].label,
              texts[i].text);
  }
  const PlaceTime elsewhere = Elsewhere(annotation, texts);
  if (elsewhere.self.all().ns != 0) lines.Add(&elsewhere, "...", "elsewhere");
  const bool source = annotation.kind == Annotation::Kind::kSource;
  const std::string title =
      (source ? "" : annotation.name + " in ") + SafeText(annotation.path) + ", " + scale.Name();
  return options.palette.Paint(Tone::kFaint, title) + "\n" + lines.Render(options);
}

ReportSheet SheetOf(const Annotation& annotation, const std::vector<PlaceText>& texts) {
  const bool source = annotation.kind == Annotation::Kind::kSource;
  ReportSheet sheet;
  sheet.total_ns = annotation.all_ns;
  sheet.columns = {source ? "line" : "offset", "text"};
  for (std::string& column : TimeColumns("self_")) sheet.columns.push_back(std::move(column));
  if (source)
    for (std::string& column : TimeColumns("total_")) sheet.columns.push_back(std::move(column));
  std::map<std::uint64_t, const std::string*> known;
  for (const PlaceText& text : texts) known.emplace(text.place, &text.text);
  for (const auto& [place, time] : annotation.places) {
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(place);
    const auto text = known.find(place);
    cells.emplace_back(text == known.end() ? std::string() : *text->second);
    AddTimeCells(time.self, cells);
    if (source) AddTimeCells(time.total, cells);
  }
  return sheet;
}

}  // namespace profd::client
