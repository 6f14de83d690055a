// The object by which PaddlePaddle names what it does, with the same symbols and arguments. Like
// that one it may end before its destructor, which ends it once more. It does nothing.
#pragma once

#include <cstdint>
#include <string>

namespace phi {

enum class TracerEventType { kOperator, kUser };
enum class EventRole { kOrdinary, kInner };

class RecordEvent {
 public:
  explicit RecordEvent(const char* name, TracerEventType type = TracerEventType::kUser,
                       std::uint32_t level = 1, EventRole role = EventRole::kOrdinary);
  explicit RecordEvent(const std::string& name, TracerEventType type = TracerEventType::kUser,
                       std::uint32_t level = 1, EventRole role = EventRole::kOrdinary);
  RecordEvent(const RecordEvent&) = delete;
  RecordEvent& operator=(const RecordEvent&) = delete;
  ~RecordEvent() { End(); }
  void End();
};

}  // namespace phi
