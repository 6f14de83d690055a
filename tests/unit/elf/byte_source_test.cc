#include "daemon/elf/file/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <span>
#include <string>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd::elf {
namespace {

constexpr std::uint64_t kFar = ~std::uint64_t{0};

void ExpectBounded(const ByteSource& source) {
  ASSERT_EQ(source.size(), 10u);
  EXPECT_EQ(*source.Copy(2, 3), "234");
  EXPECT_EQ(*source.Copy(10, 0), "");
  EXPECT_EQ(source.Copy(9, 2).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(source.Copy(11, 0).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(source.Copy(kFar, 2).error().code, ErrorCode::kCorrupt) << "the end overflows";
  EXPECT_EQ(source.Copy(2, kFar).error().code, ErrorCode::kCorrupt) << "nothing so large is made";
  std::string to = "....";
  EXPECT_FALSE(source.Read(7, to));
  EXPECT_EQ(to, "....");
  EXPECT_TRUE(source.Read(6, to));
  EXPECT_EQ(to, "6789");
  EXPECT_TRUE(source.Holds(0, 10));
  EXPECT_FALSE(source.Holds(1, 10));
  EXPECT_EQ(source.Check(1, 10).error().message,
            "a part that should be there lies outside the file");
}

TEST(ByteSourceTest, MemoryIsBounded) {
  const std::string text = "0123456789";
  ExpectBounded(MemoryBytes(std::as_bytes(std::span(text))));
}

TEST(ByteSourceTest, AFileIsBounded) {
  const test::TempFolder folder;
  const UniqueFd fd(::open(folder.Write("file", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  ExpectBounded(FileBytes(fd.get(), 10));
  const auto of_fd = FileBytes::Of(fd.get());
  ASSERT_TRUE(of_fd);
  ExpectBounded(*of_fd);
  EXPECT_EQ(of_fd->fd(), fd.get());
}

TEST(ByteSourceTest, AFileThatIsLongerThanItWasSaidToBeEndsThere) {
  const test::TempFolder folder;
  const UniqueFd fd(::open(folder.Write("file", "0123456789abc").c_str(), O_RDONLY | O_CLOEXEC));
  ExpectBounded(FileBytes(fd.get(), 10));
}

TEST(ByteSourceTest, AFileThatShrinksIsCorrupt) {
  const test::TempFolder folder;
  const std::string path = folder.Write("file", "0123456789");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const FileBytes file(fd.get(), 10);
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  EXPECT_EQ(*file.Copy(0, 5), "01234");
  const auto cut = file.Copy(0, 6);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(cut.error().message, "the file shrank while it was read");
}

TEST(ByteSourceTest, ADescriptorThatCannotBeReadIsAnError) {
  EXPECT_FALSE(FileBytes::Of(-1));
  EXPECT_EQ(FileBytes(-1, 10).Copy(0, 1).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace profd::elf
