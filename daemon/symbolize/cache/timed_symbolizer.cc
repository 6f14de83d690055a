#include "daemon/symbolize/cache/timed_symbolizer.h"

#include "daemon/base/proc/own_usage.h"

namespace profd::symbolize {

void TimedSymbolizer::Resolve(const process::AddressFrame& address, Detail detail,
                              std::vector<Frame>& frames) {
  const std::uint64_t before_ns = ThreadCpuNs();
  other_.Resolve(address, detail, frames);
  spent_ns_.Add(ThreadCpuNs() - before_ns);
}

void TimedSymbolizer::Prepare() {
  const std::uint64_t before_ns = ThreadCpuNs();
  other_.Prepare();
  spent_ns_.Add(ThreadCpuNs() - before_ns);
}

}  // namespace profd::symbolize
