// Reads any bytes as a recording file, and checks what must hold of every such reading.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/base/unique_fd.h"
#include "daemon/recording/recording_reader.h"
#include "tests/fuzz/require.h"

namespace profd::fuzz {

inline void ReadRecording(std::span<const std::byte> content) {
  const UniqueFd file(::memfd_create("recording", MFD_CLOEXEC));
  Require(file.valid(), "memfd_create");
  if (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    Require(written == std::ssize(content), "write");
  }
  constexpr std::size_t kMaxEnvironment = 1u << 20;
  const auto reader = recording::RecordingReader::Open(
      "/proc/self/fd/" + std::to_string(file.get()), {.environment_bytes = kMaxEnvironment});
  if (!reader) {
    Require(!reader.error().message.empty(), "an error says what is wrong");
    return;
  }
  Require((*reader)->totals().has_value() == (*reader)->cut().empty(), "whole or cut");
  std::size_t environment = 0;
  (*reader)->ForEachEnvironment("elf", [&](std::string_view key, std::string_view value) {
    environment += key.size() + value.size();
  });
  Require(environment <= kMaxEnvironment, "bound of the environment");
  // A small file can hold thousands of blocks of 64 MiB; a few of them show what there is to see.
  for (int blocks = 0; blocks < 4; ++blocks) {
    const auto more = (*reader)->NextEvents([](const wire::RawEvent& event) {
      Require(reinterpret_cast<std::uintptr_t>(event.bytes.data()) % 8 == 0, "alignment");
    });
    if (!more || !*more) break;
  }
}

}  // namespace profd::fuzz
