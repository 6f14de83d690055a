// TopState: what the user wants the live table to show.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/screens/top/top_keys.h"

namespace profd::client {

enum class TopView { kFunctions, kThreads, kProcesses };
enum class TopSort { kRunning, kSpinning, kRunnable, kBlocked, kSelf, kTotal, kName };

struct TopState {
  TopView view = TopView::kProcesses;
  TopSort sort = TopSort::kRunning;
  std::string filter{};  // only rows with this text in them; empty: all
  bool total = false;    // functions: the states of all that they call, too
  bool kernel = true;    // functions of the kernel are rows of their own
  bool paused = false;   // the table stands still
  bool help = false;     // it makes room for the help
  bool typing_filter = false;
  bool quit = false;
  std::size_t first_row = 0;  // that is shown; may be too large after the table has shrunk
};

// "functions", "blocked".
[[nodiscard]] const char* NameOf(TopView view);
[[nodiscard]] const char* NameOf(TopSort sort);
// What a view can be sorted by, in the order of its columns.
[[nodiscard]] std::vector<TopSort> SortsOf(TopView view);

// What the key does. `page`: rows that the screen shows.
void Press(TopState& state, const Key& key, std::size_t page);

}  // namespace profd::client
