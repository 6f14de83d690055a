// ScreenModel: what stands on a terminal's screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::e2e {

// As much of a terminal as profctl uses: home, clear to the end of line and screen, the alternate
// screen; colours are dropped.
class ScreenModel {
 public:
  void Take(std::string_view bytes) {
    for (const char byte : bytes) Take(byte);
  }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] bool alternate() const { return alternate_; }
  [[nodiscard]] bool cursor_shown() const { return cursor_shown_; }

 private:
  void Take(char byte) {
    if (!sequence_.empty() || byte == '\x1b') {
      sequence_ += byte;
      const bool whole = sequence_.size() > 2 && byte >= '@' && byte <= '~';
      if (whole) Obey(std::exchange(sequence_, ""));
      return;
    }
    if (byte == '\r') {
      column_ = 0;
      return;
    }
    if (byte == '\n') {
      ++row_;
      return;
    }
    if (lines_.size() <= row_) lines_.resize(row_ + 1);
    std::string& line = lines_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, ' ');
    line[column_++] = byte;
  }
  void Obey(const std::string& sequence) {
    if (sequence == "\x1b[H") row_ = column_ = 0;
    if (sequence == "\x1b[K" && lines_.size() > row_ && lines_[row_].size() > column_)
      lines_[row_].resize(column_);
    if (sequence == "\x1b[J" && lines_.size() > row_ + 1) lines_.resize(row_ + 1);
    if (sequence == "\x1b[?1049h" || sequence == "\x1b[?1049l") {
      alternate_ = sequence.back() == 'h';
      lines_.clear();
      row_ = column_ = 0;
    }
    if (sequence == "\x1b[?25h" || sequence == "\x1b[?25l") cursor_shown_ = sequence.back() == 'h';
  }

  std::vector<std::string> lines_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;  // in bytes
  std::string sequence_;
  bool alternate_ = false;
  bool cursor_shown_ = true;
};

}  // namespace profd::e2e
