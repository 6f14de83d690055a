// Console: all words of profctl, on stderr. stdout is for data.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "client/text/palette.h"
#include "daemon/base/result.h"

namespace profd::client {

// Owned by main; used from any thread. Keeps one progress line at the bottom out of the way of what
// is said. Never fails: when stderr is gone, words are lost.
class Console {
 public:
  struct Options {
    bool quiet = false;     // errors only
    bool verbose = false;   // explanations, too
    bool progress = false;  // stderr is a terminal that may be written over
    Palette palette;
    int fd = 2;
  };

  explicit Console(const Options& options) : options_(options) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { EndProgress(); }

  void Say(std::string_view text);
  void Explain(std::string_view text);
  // "profctl: what: why" and a line on what to do. Also when quiet.
  void Fail(const Error& error);

  // `render` is given the terminal's width of this moment; the line it returns replaces the last.
  void ShowProgress(const std::function<std::string(std::size_t width)>& render);
  void EndProgress();

  [[nodiscard]] bool quiet() const { return options_.quiet; }
  [[nodiscard]] bool verbose() const { return options_.verbose; }

 private:
  void Print(std::string_view text);  // with mutex_ held
  void ErasePrintedProgress();        // with mutex_ held

  const Options options_;
  std::mutex mutex_;
  bool progress_shown_ = false;
};

}  // namespace profd::client
