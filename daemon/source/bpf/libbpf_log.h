// LibbpfLog: what libbpf has to say while it works for us, kept for error messages.
#pragma once

#include <string>

namespace profd::source {

// While it lives, libbpf's warnings on this thread are kept here instead of going to stderr. libbpf
// knows one print function per process and passes it no context, hence the thread-local behind it;
// warnings of other threads are discarded. One at a time per thread.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The last lines, at most 4 KiB: the end of a verifier's log is where it says why.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace profd::source
