#include "daemon/base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};

PipeEnds MakePipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(FilesTest, ReadsAWholeFile) {
  const test::TempFolder folder;
  const std::string bytes = std::string(70'000, 'a') + '\0' + "end";
  const auto read = ReadFile(folder.Write("file", bytes), bytes.size());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(*ReadFile(folder.Write("empty", ""), 0), "");
}

TEST(FilesTest, AFileThatIsLongerThanTheBoundIsRefused) {
  const test::TempFolder folder;
  const std::string path = folder.Write("file", std::string(70'000, 'a'));
  const auto refused = ReadFile(path, 69'999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(refused.error().message, path + " is longer than 69999 bytes");
}

TEST(FilesTest, TheErrorNamesTheFileAndTheCause) {
  const auto missing = ReadFile("/nonexistent/file", 100);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot read /nonexistent/file: no such file or directory");
  const test::TempFolder folder;
  const auto directory = ReadFile(folder.path(), 100);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kIo);
  EXPECT_THAT(directory.error().message, StartsWith("cannot read " + folder.path().string()));
}

TEST(FilesTest, ReadsAPipeToItsEndAndWritesAllOfWhatDoesNotFitAtOnce) {
  PipeEnds ends = MakePipe();
  const std::string bytes(1'000'000, 'x');  // a pipe holds 64 KiB
  std::thread writer([&] {
    EXPECT_EQ(WriteAll(ends.write.get(), bytes), 0);
    ends.write.Reset();
  });
  const auto read = ReadAll(ends.read.get(), "the pipe", bytes.size());
  writer.join();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, bytes);
}

TEST(FilesTest, WritingToADescriptorThatCannotBeWrittenFails) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(WriteAll(null.get(), "x"), EBADF);
  EXPECT_EQ(WriteAll(null.get(), ""), 0);
}

TEST(FilesTest, ReadAtStopsAtTheEndOfTheFile) {
  const test::TempFolder folder;
  const UniqueFd file(::open(folder.Write("file", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  std::string to(4, '.');
  EXPECT_EQ(*ReadAt(file.get(), 3, to, "x"), 4u);
  EXPECT_EQ(to, "3456");
  to = "....";
  EXPECT_EQ(*ReadAt(file.get(), 8, to, "x"), 2u);
  EXPECT_EQ(to, "89..");
  EXPECT_EQ(*ReadAt(file.get(), 100, to, "x"), 0u);
  const auto failed = ReadAt(-1, 0, to, "cannot read the file");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, EndsWith("cannot read the file: bad file descriptor"));
}

TEST(FilesTest, BaseNameIsWhatFollowsTheLastSlash) {
  EXPECT_EQ(BaseName("/usr/bin/python3"), "python3");
  EXPECT_EQ(BaseName("python3"), "python3");
  EXPECT_EQ(BaseName("/usr/bin/"), "");
  EXPECT_EQ(BaseName(""), "");
}

TEST(FilesTest, BytesAndNumbersAsHexadecimalText) {
  EXPECT_EQ(HexBytes(std::string("\x7f"
                                 "E\x00\xff",
                                 4)),
            "7f4500ff");
  EXPECT_EQ(HexBytes(""), "");
  EXPECT_EQ(HexNumber(0), "0x0");
  EXPECT_EQ(HexNumber(0xffff'ffff'ffff'ffff), "0xffffffffffffffff");
}

}  // namespace
}  // namespace profd
