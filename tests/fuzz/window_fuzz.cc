// Any bytes as the columns of a stored window and of its paths, whose checksums are right: random
// bytes would hardly ever come that far.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/codec/columns.h"
#include "daemon/store/codec/window_codec.h"
#include "tests/fuzz/require.h"

namespace profd::fuzz {
namespace {

// Before the columns in the input.
struct Prefix {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint8_t columns;       // of the window
  std::uint8_t path_columns;  // of its paths; 0: it has none
};

// Takes columns from the input, each behind its length.
std::string TakeColumns(std::size_t count, std::span<const std::byte>& input) {
  std::vector<store::ColumnWriter> columns(count);
  for (store::ColumnWriter& column : columns) {
    std::uint16_t bytes = 0;
    if (input.size() < sizeof(bytes)) break;
    std::memcpy(&bytes, input.data(), sizeof(bytes));
    input = input.subspan(sizeof(bytes));
    const auto values = input.first(std::min<std::size_t>(bytes, input.size()));
    input = input.subspan(values.size());
    for (store::ColumnReader reader(values); reader.ok() && reader.left() != 0;)
      column.Add(reader.Next());
  }
  auto packed = store::PackColumns(columns, 1);
  return packed ? *std::move(packed) : std::string();
}

void ReadWindow(std::span<const std::byte> input) {
  Prefix prefix;
  if (input.size() < sizeof(prefix)) return;
  std::memcpy(&prefix, input.data(), sizeof(prefix));
  input = input.subspan(sizeof(prefix));
  const std::string data = TakeColumns(prefix.columns, input);
  std::optional<std::string> paths;
  if (prefix.path_columns != 0) paths = TakeColumns(prefix.path_columns, input);
  store::EncodedBytes bytes{.data = std::as_bytes(std::span(data)), .paths = std::nullopt};
  if (paths) bytes.paths = std::as_bytes(std::span(*paths));
  const auto window =
      store::DecodeWindow(bytes, prefix.start_ns, prefix.end_ns,
                          [](const store::StoredThread& thread) { return thread.number % 2 == 0; });
  if (!window) return;
  for (const auto& sample : window->samples) {
    Require(sample.thread < window->threads.size(), "a sample has a thread");
    Require(sample.path == 0 || sample.path < window->paths.size(), "a sample's path is there");
  }
  for (std::size_t i = 1; i < window->paths.size(); ++i) {
    Require(window->paths[i].parent < i, "parents come first");
    Require(window->paths[i].thread <= window->path_threads.size(), "a step's thread is there");
  }
  for (const auto& count : window->wake_ups) {
    Require(count.thread < window->threads.size(), "a waiter is there");
    Require(count.waker < window->path_threads.size(), "a waker is there");
  }
}

}  // namespace
}  // namespace profd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  profd::fuzz::ReadWindow(std::as_bytes(std::span(data, size)));
  return 0;
}
