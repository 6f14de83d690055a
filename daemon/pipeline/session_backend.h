// SessionBackend: what sessions run on, a live kernel or a recording.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/base/result.h"
#include "daemon/pipeline/session.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

// All methods may be called from any thread.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // Sessions end by themselves only when a recording does. The id is given by the caller.
  [[nodiscard]] virtual Result<std::shared_ptr<Session>> Start(
      std::uint32_t id, const session::SessionSpec& spec) = 0;
  // Ends a session whose BeginEnd() the caller has won; it finishes soon after, whatever happens.
  virtual void End(const std::shared_ptr<Session>& session) = 0;
  // Whether a session's duration is that of its recording and not the requested one.
  [[nodiscard]] virtual bool EndsByItself() const = 0;
};

}  // namespace profd::pipeline
