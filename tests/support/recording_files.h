// Recording files for tests: writes and reads them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "daemon/recording/recording_reader.h"

namespace profd::test {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

using EventTexts = std::vector<std::string>;

inline std::string TextOf(const wire::RawEvent& event) {
  return {reinterpret_cast<const char*>(event.bytes.data()), event.bytes.size()};
}

// The events up to the end or the first error, whose message goes to `error`.
inline EventTexts EventsOf(recording::RecordingReader& reader, std::string* error = nullptr) {
  EventTexts events;
  while (true) {
    const Result<bool> more =
        reader.NextEvents([&](const wire::RawEvent& event) { events.push_back(TextOf(event)); });
    if (!more && error != nullptr) *error = more.error().message;
    if (!more || !*more) return events;
  }
}

using EnvironmentTexts = std::vector<std::pair<std::string, std::string>>;

inline EnvironmentTexts EnvironmentOf(const recording::RecordingReader& reader,
                                      const std::string& kind) {
  EnvironmentTexts records;
  reader.ForEachEnvironment(kind, [&](std::string_view key, std::string_view value) {
    records.emplace_back(key, value);
  });
  return records;
}

}  // namespace profd::test
