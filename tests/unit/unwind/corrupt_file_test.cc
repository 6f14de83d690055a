#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

// Reads all there is, if the file can be opened; rows must be in order and inside the requested
// range.
void ReadAll(const std::vector<std::byte>& bytes) {
  auto reader = CfiReader::FromMemory(bytes);
  if (!reader) return;
  for (const TextRange& range : reader->text()) {
    const std::uint64_t first = range.begin / kChunkBytes * kChunkBytes;
    for (std::uint64_t begin = first; begin < range.end; begin += kChunkBytes) {
      const auto rows = reader->ReadRows(begin, begin + kChunkBytes).rows;
      ASSERT_EQ(rows.front().offset, begin);
      for (std::size_t i = 1; i < rows.size(); ++i) ASSERT_LT(rows[i - 1].offset, rows[i].offset);
      ASSERT_LT(rows.back().offset, begin + kChunkBytes);
    }
  }
}

const char* const kFile = "/usr/lib/x86_64-linux-gnu/libz.so.1";

// Parameter: without the index of its frames.
class CorruptFile : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    whole_ = ContentsOf("/usr/lib/x86_64-linux-gnu/libz.so.1");
    if (whole_.empty()) GTEST_SKIP() << "no libz here";
    if (GetParam()) RemoveSegments(whole_, PT_GNU_EH_FRAME);
  }
  std::vector<std::byte> whole_;
};

TEST_P(CorruptFile, Cut) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
    const auto end = static_cast<std::ptrdiff_t>(random() % whole_.size());
    ReadAll({whole_.begin(), whole_.begin() + end});
  }
}

TEST_P(CorruptFile, Changed) {
  // Most changes where they matter: headers, and the tables that follow the text.
  const auto intact = CfiReader::FromMemory(whole_);
  ASSERT_TRUE(intact);
  const std::uint64_t tables = intact->text().back().end;
  std::mt19937_64 random(12);
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    auto bytes = whole_;
    for (std::uint64_t j = 0; j < 1 + random() % 200; ++j) {
      const bool header = random() % 50 == 0;
      const std::uint64_t at =
          header ? random() % 1024 : tables + random() % (bytes.size() - tables);
      bytes[at] = static_cast<std::byte>(random());
    }
    ReadAll(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Index, CorruptFile, testing::Bool(),
                         [](const auto& without) { return without.param ? "Without" : "With"; });

}  // namespace
}  // namespace profd::unwind
