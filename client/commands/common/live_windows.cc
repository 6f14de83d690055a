#include "client/commands/common/live_windows.h"

#include <utility>

#include "client/link/collect_session.h"

namespace profd::client {

struct LiveWindows::Window {
  explicit Window(Console& console) : session(console) {}

  CollectSession session;
  bool begun = false;        // all three with mutex_
  bool target_gone = false;  // and so it was stopped
  bool done = false;
  std::jthread thread;  // last: it uses the others
};

LiveWindows::LiveWindows(GrpcClient& client, v1::CollectRequest request,
                         std::chrono::nanoseconds window, Console& console, Deliver deliver)
    : client_(client),
      request_(std::move(request)),
      length_(window),
      console_(console),
      deliver_(std::move(deliver)),
      roller_([this](const std::stop_token& stop) { Roll(stop); }) {}

LiveWindows::~LiveWindows() {
  const std::scoped_lock lock(mutex_);
  giving_up_ = true;
}

std::unique_ptr<LiveWindows::Window> LiveWindows::Begin() {
  auto window = std::make_unique<Window>(console_);
  window->thread = std::jthread([this, &window = *window] { Run(window); });
  return window;
}

void LiveWindows::Run(Window& window) {
  const auto go_on = [this]() -> Result<void> {
    if (giving_up_) return Error{ErrorCode::kUnavailable, "the command has ended", ""};
    return {};
  };
  CollectCallbacks callbacks;
  callbacks.started = [&](const v1::Started&) -> Result<void> {
    const std::scoped_lock lock(mutex_);
    window.begun = true;
    begun_ = true;
    changed_.notify_all();
    return go_on();
  };
  callbacks.progress = [&](const v1::Progress& progress) -> Result<void> {
    const v1::Target& target = request_.target();
    const bool gone = progress.target_gone() && (target.has_pids() || target.has_tids());
    const std::scoped_lock lock(mutex_);
    if (gone && !std::exchange(window.target_gone, true)) window.session.Stop();
    return go_on();
  };
  Result<v1::Profile> profile = window.session.Run(client_, request_, callbacks);
  const std::scoped_lock lock(mutex_);
  window.done = true;
  changed_.notify_all();
  if (giving_up_ || over_) return;
  // Gone between two windows, it is not found by the second.
  const bool not_found = !profile && profile.error().code == ErrorCode::kNotFound;
  gone_ = gone_ || window.target_gone || (begun_ && not_found);
  if (gone_ && !profile) return;
  over_ = !profile;
  deliver_(std::move(profile));
}

bool LiveWindows::WaitUntil(const std::stop_token& stop, const Window& window, bool Window::*what) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [&] { return window.*what || window.done || over_; }) &&
         window.*what && !over_;
}

void LiveWindows::Roll(const std::stop_token& stop) {
  std::unique_ptr<Window> ended;
  std::unique_ptr<Window> current = Begin();
  while (WaitUntil(stop, *current, &Window::begun)) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, length_, [&] { return current->done || over_; });
      if (stop.stop_requested() || current->done || over_) break;
    }
    if (ended && !WaitUntil(stop, *ended, &Window::done)) break;
    std::unique_ptr<Window> next = Begin();
    const bool begun = WaitUntil(stop, *next, &Window::begun);
    current->session.Stop();
    ended = std::exchange(current, std::move(next));
    if (!begun) break;
  }
  if (ended) (void)WaitUntil(stop, *ended, &Window::done);
  const std::scoped_lock lock(mutex_);
  if (!gone_ || over_ || giving_up_) return;
  over_ = true;
  deliver_(Error{ErrorCode::kNotFound, "the target has exited", ""});
}

}  // namespace profd::client
