#include "daemon/elf/file/file_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd::elf {
namespace {

TEST(FileImage, HoldsWhatWasFetchedAndZeroesElsewhere) {
  const test::TempFolder tree;
  std::string content(20'000, 'x');
  content.replace(10'000, 5, "hello");
  const UniqueFd fd(::open(tree.Write("file", content).c_str(), O_RDONLY | O_CLOEXEC));
  const FileBytes file(fd.get(), content.size());
  Result<FileImage> image = FileImage::Create(file);
  ASSERT_TRUE(image) << image.error().message;
  const auto part = image->Fetch(10'000, 5);
  ASSERT_TRUE(part);
  EXPECT_EQ(std::string(part->data(), part->size()), "hello");
  EXPECT_EQ(part->data(), image->data() + 10'000);
  EXPECT_EQ(image->data()[0], '\0');
  EXPECT_EQ(image->size(), content.size());
}

TEST(FileImage, RefusesWhatIsOutside) {
  const test::TempFolder tree;
  const UniqueFd fd(::open(tree.Write("file", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  const FileBytes file(fd.get(), 10);
  Result<FileImage> image = FileImage::Create(file);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->Fetch(10, 0));
  EXPECT_FALSE(image->Fetch(11, 0));
  EXPECT_FALSE(image->Fetch(5, 6));
  EXPECT_FALSE(image->Fetch(~0ull, 2));
  EXPECT_FALSE(image->Fetch(2, ~0ull));
}

TEST(FileImage, RefusesEmptyAndHugeFiles) {
  EXPECT_EQ(FileImage::Create(FileBytes(-1, 0)).error().message, "empty file");
  EXPECT_EQ(FileImage::Create(FileBytes(-1, FileImage::kMaxFileBytes + 1)).error().code,
            ErrorCode::kExhausted);
}

TEST(FileImage, ALargeFileCostsOnlyWhatIsFetched) {
  const test::TempFolder tree;
  const std::string path = tree.Write("sparse", "");
  std::filesystem::resize_file(path, 40ull << 30);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const FileBytes file(fd.get(), 40ull << 30);
  Result<FileImage> image = FileImage::Create(file);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_TRUE(image->Fetch(39ull << 30, 100));
}

}  // namespace
}  // namespace profd::elf
