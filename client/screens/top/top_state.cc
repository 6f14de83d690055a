#include "client/screens/top/top_state.h"

#include <algorithm>
#include <utility>

namespace profd::client {
namespace {

void Switch(TopState& state, TopView view) {
  state.view = view;
  state.first_row = 0;
  const std::vector<TopSort> sorts = SortsOf(view);
  if (std::ranges::find(sorts, state.sort) == sorts.end()) state.sort = TopSort::kRunning;
}

void SortBy(TopState& state, bool next) {
  const std::vector<TopSort> sorts = SortsOf(state.view);
  const auto now = std::ranges::find(sorts, state.sort);
  const auto at = static_cast<std::size_t>(now - sorts.begin());
  state.sort = sorts[(at + (next ? 1 : sorts.size() - 1)) % sorts.size()];
  state.first_row = 0;
}

void RemoveLastCharacter(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

void TypeFilter(TopState& state, const Key& key) {
  state.first_row = 0;
  switch (key.kind) {
    case KeyKind::kText:
      state.filter += key.text;
      break;
    case KeyKind::kBackspace:
      RemoveLastCharacter(state.filter);
      break;
    case KeyKind::kEscape:
      state.filter.clear();
      state.typing_filter = false;
      break;
    case KeyKind::kEnter:
      state.typing_filter = false;
      break;
    default:
      break;
  }
}

// True: the key moved what is shown.
bool Move(TopState& state, KeyKind key, std::size_t page) {
  std::size_t& row = state.first_row;
  switch (key) {
    case KeyKind::kUp:
      row -= std::min<std::size_t>(row, 1);
      return true;
    case KeyKind::kDown:
      ++row;
      return true;
    case KeyKind::kPageUp:
      row -= std::min(row, page);
      return true;
    case KeyKind::kPageDown:
      row += page;
      return true;
    case KeyKind::kHome:
      row = 0;
      return true;
    case KeyKind::kEnd:
      row = static_cast<std::size_t>(-1) / 2;
      return true;
    default:
      return false;
  }
}

void PressLetter(TopState& state, const std::string& letter) {
  if (letter == "q" || letter == "Q") state.quit = true;
  if (letter == "f") Switch(state, TopView::kFunctions);
  if (letter == "t") Switch(state, TopView::kThreads);
  if (letter == "p") Switch(state, TopView::kProcesses);
  if (letter == "s") SortBy(state, true);
  if (letter == "S") SortBy(state, false);
  if (letter == "e") state.total = !state.total;
  if (letter == "k") state.kernel = !state.kernel;
  if (letter == " ") state.paused = !state.paused;
  if (letter == "h" || letter == "?") state.help = true;
  if (letter == "/") state.typing_filter = true;
}

}  // namespace

const char* NameOf(TopView view) {
  switch (view) {
    case TopView::kFunctions:
      return "functions";
    case TopView::kThreads:
      return "threads";
    case TopView::kProcesses:
      return "processes";
  }
  return "";
}

const char* NameOf(TopSort sort) {
  switch (sort) {
    case TopSort::kRunning:
      return "running";
    case TopSort::kSpinning:
      return "spinning";
    case TopSort::kRunnable:
      return "runnable";
    case TopSort::kBlocked:
      return "blocked";
    case TopSort::kSelf:
      return "self";
    case TopSort::kTotal:
      return "total";
    case TopSort::kName:
      return "name";
  }
  return "";
}

std::vector<TopSort> SortsOf(TopView view) {
  if (view != TopView::kFunctions)
    return {TopSort::kRunning, TopSort::kSpinning, TopSort::kRunnable, TopSort::kBlocked,
            TopSort::kName};
  return {TopSort::kSelf,     TopSort::kTotal,   TopSort::kRunning, TopSort::kSpinning,
          TopSort::kRunnable, TopSort::kBlocked, TopSort::kName};
}

void Press(TopState& state, const Key& key, std::size_t page) {
  if (key.kind == KeyKind::kInterrupt) {
    state.quit = true;
    return;
  }
  // Any key leaves the help; one that means something does that, too.
  const bool helped = std::exchange(state.help, false);
  if (state.typing_filter) return TypeFilter(state, key);
  if (Move(state, key.kind, page)) return;
  if (key.kind == KeyKind::kEscape && !helped) state.filter.clear();
  if (key.kind != KeyKind::kText) return;
  if (helped && (key.text == "h" || key.text == "?")) return;
  PressLetter(state, key.text);
}

}  // namespace profd::client
