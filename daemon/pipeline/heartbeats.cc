#include "daemon/pipeline/heartbeats.h"

#include <array>
#include <utility>

namespace profd::pipeline {

std::string StuckStage(const Heartbeats& beats, std::uint64_t now_ns) {
  const std::array<std::pair<const char*, std::uint64_t>, 3> stages{
      {{"reader", beats.reader.value()},
       {"worker", beats.worker.value()},
       {"symbolizer", beats.symbolizer.value()}}};
  for (const auto& [name, beat_ns] : stages) {
    if (beat_ns == 0) return std::string(name) + ": no round yet";
    if (now_ns >= beat_ns + kStuckNs)
      return std::string(name) + ": no round for " +
             std::to_string((now_ns - beat_ns) / 1'000'000'000) + " s";
  }
  return {};
}

}  // namespace profd::pipeline
