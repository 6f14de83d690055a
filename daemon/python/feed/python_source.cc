#include "daemon/python/feed/python_source.h"

#include <algorithm>

namespace profd::python {
namespace {

// A code object can be named while it lives: what comes from exec, or a whole process, may do so
// for milliseconds.
constexpr std::chrono::milliseconds kWithPython{10};

}  // namespace

Result<wire::PollStatus> PythonSource::Poll(std::chrono::milliseconds timeout, const Sink& sink) {
  codes_.BeginRound();
  const auto longest = codes_.IsWatching() ? std::min(timeout, kWithPython) : timeout;
  auto status = source_.Poll(longest, [&](const wire::RawEvent& event) {
    service_.See(event);
    codes_.Pass(event, sink);
  });
  codes_.EndRound(sink);
  return status;
}

}  // namespace profd::python
