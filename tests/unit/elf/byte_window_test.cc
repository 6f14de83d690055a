#include "daemon/elf/file/byte_window.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>

namespace profd::elf {
namespace {

TEST(ByteWindow, HasTheBytesOfTheSource) {
  std::mt19937_64 random(5);
  std::string bytes(3 * ByteWindow::kPieceBytes + 17, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const MemoryBytes source(std::as_bytes(std::span(bytes)));
  ByteWindow window(source);
  for (int i = 0; i < 2'000; ++i) {
    const std::size_t at = random() % (bytes.size() + 10);
    const std::size_t count = random() % (i % 7 == 0 ? 2 * ByteWindow::kPieceBytes : 40);
    const auto expected = at < bytes.size() ? std::string_view(bytes).substr(at, count) : "";
    ASSERT_EQ(window.At(at, count), expected) << at << ' ' << count;
  }
  EXPECT_EQ(window.At(~std::uint64_t{0}, 8), "");
}

// A file that is cut while it is read.
class Shrinking : public ByteSource {
 public:
  Shrinking() : ByteSource(1'000) {}
  mutable bool cut = false;

 private:
  [[nodiscard]] Result<void> ReadInside(std::uint64_t /*offset*/,
                                        std::span<char> to) const override {
    if (cut) return Error{ErrorCode::kCorrupt, "the file shrank while it was read", ""};
    std::ranges::fill(to, 'x');
    return {};
  }
};

TEST(ByteWindow, HasNothingOfWhatCannotBeRead) {
  const Shrinking source;
  ByteWindow window(source);
  EXPECT_EQ(window.At(990, 20), std::string(10, 'x'));
  source.cut = true;
  EXPECT_EQ(window.At(992, 2), "xx") << "that was read before";
  EXPECT_EQ(window.At(10, 20), "");
  EXPECT_EQ(window.At(10, 20), "");
}

}  // namespace
}  // namespace profd::elf
