#include "client/text/table.h"

#include <algorithm>
#include <utility>

#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kWideGap = 3;
constexpr std::size_t kNarrowGap = 2;  // when the table does not fit otherwise
constexpr std::size_t kSmallestName = 10;
constexpr std::size_t kSmallestList = 12;  // an item

std::string FitCell(const Column& column, const std::string& cell, std::size_t width) {
  std::string text = cell;
  if (column.shrink == Shrink::kMiddle) text = CutMiddle(cell, width);
  if (column.shrink == Shrink::kList) text = CutList(cell, width);
  return column.align == Align::kRight ? PadLeft(text, width) : PadRight(text, width);
}

// Paints a cell but not the spaces that fill it up: they would show with underlining or inversion.
std::string PaintCell(const Palette& palette, Tone tone, const std::string& cell) {
  const std::size_t begin = cell.find_first_not_of(' ');
  if (begin == std::string::npos) return cell;
  const std::size_t end = cell.find_last_not_of(' ') + 1;
  return cell.substr(0, begin) + palette.Paint(tone, cell.substr(begin, end - begin)) +
         cell.substr(end);
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

Table::Layout Table::Fit(std::size_t width) const {
  Layout layout;
  layout.gap = kWideGap;
  layout.widths.resize(columns_.size(), 0);
  std::size_t total = 0;
  std::size_t gaps = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t& column = layout.widths[i];
    for (const auto& row : rows_) column = std::max(column, DisplayWidth(row[i]));
    if (column == 0) continue;
    column = std::max(column, DisplayWidth(columns_[i].header));
    gaps += total == 0 ? 0 : 1;
    total += column;
  }
  total += gaps * kWideGap;
  if (total > width) {
    layout.gap = kNarrowGap;
    total -= gaps * (kWideGap - kNarrowGap);
  }
  // Lists give way first, down to an item; then names, the widest of them most; then lists again.
  const auto shrink_lists = [&](std::size_t least) {
    for (std::size_t i = 0; i < columns_.size() && total > width; ++i) {
      if (columns_[i].shrink != Shrink::kList || layout.widths[i] <= least) continue;
      const std::size_t cut = std::min(total - width, layout.widths[i] - least);
      layout.widths[i] -= cut;
      total -= cut;
    }
  };
  shrink_lists(kSmallestList * 2);
  while (total > width) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].shrink != Shrink::kMiddle || layout.widths[i] <= kSmallestName) continue;
      if (widest == columns_.size() || layout.widths[i] > layout.widths[widest]) widest = i;
    }
    if (widest == columns_.size()) break;
    --layout.widths[widest];
    --total;
  }
  shrink_lists(3);
  return layout;
}

std::string Table::Render(std::size_t width, const Palette& palette) const {
  const Layout layout = Fit(width);
  const std::vector<std::size_t>& widths = layout.widths;
  std::size_t last = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (widths[i] > 0) last = i;
  std::string out;
  const auto add_line = [&](const auto& text_of, bool header) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      std::string cell = FitCell(columns_[i], text_of(i), widths[i]);
      if (i == last) cell.erase(cell.find_last_not_of(' ') + 1);
      if (!line.empty()) line.append(layout.gap, ' ');
      line += PaintCell(palette, header ? Tone::kFaint : columns_[i].tone, cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (std::ranges::any_of(columns_, [](const Column& column) { return !column.header.empty(); }))
    add_line([&](std::size_t i) { return columns_[i].header; }, true);
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; }, false);
  return out;
}

}  // namespace profd::client
