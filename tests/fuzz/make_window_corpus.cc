// Writes seeds for the fuzz target of stored windows: make_window_corpus FOLDER
// (tests/fuzz/corpus). Run it by hand when the payloads change, and commit what it writes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "daemon/store/codec/columns.h"
#include "daemon/store/codec/window_codec.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

// As in FORMAT.md.
constexpr std::uint8_t kColumns = 15;
constexpr std::uint8_t kPathColumns = 13;

template <typename Number>
void Append(Number number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendColumns(const std::string& packed, std::uint8_t count, std::string& out) {
  const auto columns = UnpackedColumns::From(std::as_bytes(std::span(packed)), count);
  if (!columns) std::abort();
  for (std::size_t i = 0; i < count; ++i) {
    ColumnWriter writer;
    for (ColumnReader reader = (*columns)[i]; reader.left() != 0;) writer.Add(reader.Next());
    Append(static_cast<std::uint16_t>(writer.bytes().size()), out);
    out += writer.bytes();
  }
}

// A window as window_fuzz.cc takes it.
void Save(const std::filesystem::path& path, const HostShape& shape) {
  const aggregate::Profile window = MakeWindow(1, shape);
  WindowNumbers numbers;
  for (std::uint32_t i = 0; i < window.processes.size(); ++i) numbers.process_of.push_back(i + 1);
  for (std::uint32_t i = 0; i < window.threads.size(); ++i) numbers.thread_of.push_back(i + 1);
  const auto encoded = EncodeWindow(window, numbers, 1);
  if (!encoded) std::abort();
  std::string seed;
  Append(window.start_ns, seed);
  Append(window.end_ns, seed);
  Append(kColumns, seed);
  Append(encoded->paths ? kPathColumns : std::uint8_t{0}, seed);
  seed.append(6, '\0');  // to the size of the prefix
  AppendColumns(encoded->data, kColumns, seed);
  if (encoded->paths) AppendColumns(*encoded->paths, kPathColumns, seed);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << seed;
}

}  // namespace
}  // namespace profd::store

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::path(argv[1]) / "window";
  const profd::store::HostShape small{.processes = 2, .threads_each = 3, .samples_each = 4};
  profd::store::HostShape wakers = small;
  wakers.wakers = true;
  profd::store::Save(folder / "plain.bin", small);
  profd::store::Save(folder / "wakers.bin", wakers);
  return 0;
}
