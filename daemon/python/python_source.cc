#include "daemon/python/python_source.h"

namespace profd::python {

Result<source::PollStatus> PythonSource::Poll(std::chrono::milliseconds timeout, const Sink& sink) {
  codes_.BeginRound();
  return source_.Poll(timeout, [&](const source::RawEvent& event) {
    service_.See(event);
    codes_.Pass(event, sink);
  });
}

}  // namespace profd::python
