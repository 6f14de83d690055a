#include "daemon/elf/debug/debug_download.h"

#include <elfutils/debuginfod.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace profd::elf {

bool DebugDownload::HasServers() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && std::string_view(urls).find_first_not_of(' ') != std::string_view::npos;
}

DebugDownload::DebugDownload() : server_([this](const std::stop_token& stop) { Serve(stop); }) {}

DebugDownload::~DebugDownload() {
  server_.request_stop();
  server_.join();
}

DebugDownload::Answer DebugDownload::Ask(const std::string& build_id) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = answers_.find(build_id); known != answers_.end()) return known->second;
  if (answers_.size() >= kMaxRequested)
    return {"", "too many downloads from debuginfod were requested"};
  Answer requested{"", "the download from debuginfod is running"};
  answers_.emplace(build_id, requested);
  queue_.push_back(build_id);
  wake_.notify_one();
  return requested;
}

void DebugDownload::Serve(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-download");
  const Heartbeat::Working working(beat_);
  const std::unique_ptr<debuginfod_client, void (*)(debuginfod_client*)> client(debuginfod_begin(),
                                                                                debuginfod_end);
  if (!client) return;
  // The library calls it at least once a second while it waits for a server.
  struct Running {
    const std::stop_token& stop;
    Heartbeat& beat;
  } running{stop, beat_};
  debuginfod_set_user_data(client.get(), &running);
  debuginfod_set_progressfn(client.get(), [](debuginfod_client* one, long, long) {
    const auto& self = *static_cast<const Running*>(debuginfod_get_user_data(one));
    self.beat.Beat();
    return self.stop.stop_requested() ? 1 : 0;
  });
  while (!stop.stop_requested()) {
    std::string build_id;
    {
      std::unique_lock lock(mutex_);
      const Heartbeat::Waiting waiting(beat_);
      if (!wake_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      build_id = std::move(queue_.front());
      queue_.pop_front();
    }
    char* path = nullptr;
    // Length 0: in hexadecimal.
    const int fd = debuginfod_find_debuginfo(
        client.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
    Answer answer;
    if (fd >= 0 && path != nullptr) {
      answer.path = path;
    } else {
      answer.why = std::string("debuginfod: ") + std::strerror(fd < 0 ? -fd : EIO);
    }
    if (fd >= 0) ::close(fd);
    std::free(path);
    const bool better = !answer.path.empty();
    {
      const std::scoped_lock lock(mutex_);
      answers_[build_id] = std::move(answer);
    }
    if (better) improvements_.Add();
  }
}

}  // namespace profd::elf
