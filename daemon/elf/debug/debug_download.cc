#include "daemon/elf/debug/debug_download.h"

#include <elfutils/debuginfod.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace profd::elf {
namespace {

class LibraryServers : public DebugDownload::Servers {
 public:
  explicit LibraryServers(std::function<bool()> goes_on)
      : goes_on_(std::move(goes_on)), client_(debuginfod_begin(), debuginfod_end) {
    if (!client_) return;
    debuginfod_set_user_data(client_.get(), this);
    debuginfod_set_progressfn(client_.get(), [](debuginfod_client* one, long, long) {
      const auto& self = *static_cast<const LibraryServers*>(debuginfod_get_user_data(one));
      return self.goes_on_() ? 0 : 1;
    });
  }
  [[nodiscard]] bool valid() const { return client_ != nullptr; }

  DebugDownload::Answer Get(const std::string& build_id) override {
    char* path = nullptr;
    // Length 0: in hexadecimal.
    const int fd = debuginfod_find_debuginfo(
        client_.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
    DebugDownload::Answer answer;
    if (fd >= 0 && path != nullptr) {
      answer.path = path;
    } else {
      answer.why = std::string("debuginfod: ") + std::strerror(fd < 0 ? -fd : EIO);
    }
    if (fd >= 0) ::close(fd);
    std::free(path);
    return answer;
  }

 private:
  const std::function<bool()> goes_on_;
  const std::unique_ptr<debuginfod_client, void (*)(debuginfod_client*)> client_;
};

}  // namespace

bool DebugDownload::HasServers() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && std::string_view(urls).find_first_not_of(' ') != std::string_view::npos;
}

std::unique_ptr<DebugDownload::Servers> DebugDownload::ByLibrary(std::function<bool()> goes_on) {
  auto servers = std::make_unique<LibraryServers>(std::move(goes_on));
  if (!servers->valid()) return nullptr;
  return servers;
}

DebugDownload::DebugDownload(budget::Shares& shares, MakeServers make)
    : shares_(shares),
      make_(std::move(make)),
      server_([this](const std::stop_token& stop) { Serve(stop); }) {}

DebugDownload::~DebugDownload() {
  server_.request_stop();
  server_.join();
}

DebugDownload::User& DebugDownload::Of(std::uint32_t user) {
  if (!users_.contains(user) && users_.size() >= kMaxUsers) {
    const auto oldest = std::ranges::min_element(users_, {}, [](const auto& one) {
      return std::pair(!one.second.queue.empty(), one.second.used);
    });
    queued_ -= oldest->second.queue.size();
    users_.erase(oldest);
  }
  User& found = users_[user];
  found.used = ++uses_;
  return found;
}

DebugDownload::Answer DebugDownload::Ask(const std::string& build_id, std::uint32_t user) {
  const std::scoped_lock lock(mutex_);
  if (const std::string* path = files_.Find(build_id)) return {*path, ""};
  User& own = Of(user);
  if (const Answer* known = own.known.Find(build_id)) return *known;
  if (!shares_.Take(user)) return {"", "too many downloads from debuginfod were requested"};
  Answer requested{"", "the download from debuginfod is running"};
  own.known.Put(build_id, requested);
  own.queue.push_back(build_id);
  ++queued_;
  wake_.notify_one();
  return requested;
}

DebugDownload::Request DebugDownload::TakeNext() {
  const auto waits = [](const auto& one) { return !one.second.queue.empty(); };
  auto next = std::find_if(users_.upper_bound(served_), users_.end(), waits);
  if (next == users_.end()) next = std::ranges::find_if(users_, waits);
  Request request{next->first, std::move(next->second.queue.front())};
  next->second.queue.pop_front();
  --queued_;
  served_ = next->first;
  return request;
}

void DebugDownload::Serve(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-download");
  const Heartbeat::Working working(beat_);
  const auto servers = make_([this, &stop] {
    beat_.Beat();
    return !stop.stop_requested();
  });
  if (!servers) return;
  while (!stop.stop_requested()) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      const Heartbeat::Waiting waiting(beat_);
      if (!wake_.wait(lock, stop, [this] { return queued_ > 0; })) return;
      request = TakeNext();
    }
    Answer answer = servers->Get(request.build_id);
    const bool better = !answer.path.empty();
    {
      const std::scoped_lock lock(mutex_);
      if (better) files_.Put(request.build_id, answer.path);
      Of(request.user).known.Put(request.build_id, std::move(answer));
    }
    if (better) improvements_.Add();
  }
}

}  // namespace profd::elf
