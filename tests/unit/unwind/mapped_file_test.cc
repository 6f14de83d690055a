#include "daemon/unwind/cfi/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/unit/source/fake_proc.h"

namespace profd::unwind {
namespace {

constexpr std::uint64_t kBegin = 0x400000;
constexpr std::uint64_t kEnd = 0x401000;

// A process that maps "program", under a /proc in which map_files may not be looked at.
class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() : program_((fake_.root() / "program").string()) {
    fake_.Write("program", "code");
    std::filesystem::create_directories(fake_.root() / "12");
    std::filesystem::create_symlink("map_files", fake_.root() / "12" / "map_files");
    Map(Inode());
  }
  [[nodiscard]] std::uint64_t Inode() const {
    struct stat status {};
    EXPECT_EQ(::stat(program_.c_str(), &status), 0);
    return status.st_ino;
  }
  void Map(std::uint64_t inode) const {
    fake_.Write("12/maps",
                "003ff000-00400000 r--p 00000000 08:01 1    /other\n"
                "00400000-00401000 r-xp 00000000 08:01 " +
                    std::to_string(inode) + "    " + program_ + "\n");
  }

  source::FakeProc fake_;
  const std::string program_;
};

TEST_F(MappedFileTest, WithoutTheRightToMapFilesItIsOpenedByItsPath) {
  const auto file = OpenMappedFile(fake_.proc(), 12, kBegin, kEnd);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->stamp.inode, Inode());
  EXPECT_EQ(file->stamp.bytes, 4u);
}

TEST_F(MappedFileTest, AnotherFileAtItsPathIsNotTaken) {
  Map(Inode() + 1);
  EXPECT_FALSE(OpenMappedFile(fake_.proc(), 12, kBegin, kEnd));
}

TEST_F(MappedFileTest, AMappingThatIsGoneIsNotFound) {
  std::filesystem::remove(fake_.root() / "12" / "map_files");
  const auto file = OpenMappedFile(fake_.proc(), 12, kBegin, kEnd);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace profd::unwind
