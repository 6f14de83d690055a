// Table: rows of cells laid out to fit a terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/text/palette.h"

namespace profd::client {

enum class Align { kLeft, kRight };

// What may happen to a column's cells when the table is too wide. Numbers are kNever.
enum class Shrink { kNever, kMiddle, kList };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  Shrink shrink = Shrink::kNever;
  Tone tone = Tone::kPlain;  // of the cells; headers are faint
};

// Built row by row, then rendered; no thread, no terminal. Cells must be safe text (text.h).
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column; missing ones are empty.
  void AddRow(std::vector<std::string> cells);
  // Lines of at most `width` columns as long as the columns that are never cut fit, each ended by a
  // newline, without trailing spaces. Columns without any text are left out.
  [[nodiscard]] std::string Render(std::size_t width, const Palette& palette) const;

 private:
  struct Layout {
    std::size_t gap = 0;              // between columns
    std::vector<std::size_t> widths;  // 0: the column is left out
  };
  [[nodiscard]] Layout Fit(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace profd::client
