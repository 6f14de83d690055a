// Any bytes as a recording file.
#include "tests/fuzz/recording_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  profd::fuzz::ReadRecording(std::as_bytes(std::span(data, size)));
  return 0;
}
