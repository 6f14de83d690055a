#include "client/system/console.h"

#include "client/system/terminal.h"
#include "client/text/text.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::string_view kName = "profctl: ";

}  // namespace

void Console::Say(std::string_view text) {
  if (options_.quiet) return;
  const std::scoped_lock lock(mutex_);
  Print(std::string(kName) + SafeText(text) + "\n");
}

void Console::Explain(std::string_view text) {
  if (!options_.verbose) return;
  const std::scoped_lock lock(mutex_);
  Print(options_.palette.Paint(Tone::kFaint, std::string(kName) + SafeText(text)) + "\n");
}

void Console::Fail(const Error& error) {
  const std::scoped_lock lock(mutex_);
  std::string text = options_.palette.Paint(Tone::kError, kName);
  text += SafeText(error.message) + "\n";
  if (!error.hint.empty()) text += "  " + SafeText(error.hint) + "\n";
  Print(text);
}

void Console::ShowProgress(const std::function<std::string(std::size_t)>& render) {
  if (!options_.progress || options_.quiet) return;
  const std::scoped_lock lock(mutex_);
  // A line that fills the last column wraps on some terminals, and so would the echo of ^C.
  const std::string line = render(WidthOf(options_.fd) - 4);
  ErasePrintedProgress();
  Print(line);
  progress_shown_ = true;
}

void Console::EndProgress() {
  const std::scoped_lock lock(mutex_);
  ErasePrintedProgress();
}

void Console::ErasePrintedProgress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  Print("\r\x1b[K");
}

void Console::Print(std::string_view text) {
  if (progress_shown_) ErasePrintedProgress();
  (void)WriteAll(options_.fd, text);  // there is nowhere to report a failure
}

}  // namespace profd::client
