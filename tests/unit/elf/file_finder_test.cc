#include "daemon/elf/file/file_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/support/temp_folder.h"
#include "tests/unit/elf/file_id.h"

namespace profd::elf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IdOf;

// A /proc of our own with process 42, and the file that it maps at 0x1000-0x3000.
class FileFinderTest : public ::testing::Test {
 protected:
  FileFinderTest() {
    mapped_ = tree_.Write("files/library", "the mapped file");
    id_ = IdOf(mapped_);
    id_.path = tree_.Path("gone/library");
    id_.pid = 42;
    id_.map_start = 0x1000;
    id_.map_end = 0x3000;
    tree_.Write("proc/42/status", "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t0\n");
    tree_.Write("proc/42/maps", MapsLine("00001000-00003000", id_));
  }

  static std::string Content(const Result<FoundFile>& file) {
    if (!file) return "error: " + file.error().message;
    std::array<char, 64> buffer;
    const ssize_t got = ::read(file->fd.get(), buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<std::size_t>(got));
  }
  [[nodiscard]] std::string MapsLine(const std::string& range, const ObjectId& id) const {
    std::array<char, 256> line;
    std::snprintf(line.data(), line.size(), "%s r-xp 00000000 %02x:%02x %llu   %s\n", range.c_str(),
                  id.device_major, id.device_minor, static_cast<unsigned long long>(id.inode),
                  "/some/path (deleted)");
    return line.data();
  }
  [[nodiscard]] std::string Open() const { return Content(finder_.Open(id_)); }

  test::TempFolder tree_;
  reader::Opener opener_{ProcFs(tree_.Path("proc"))};
  const FileFinder finder_{opener_};
  std::string mapped_;
  ObjectId id_;
};

TEST_F(FileFinderTest, ThroughTheMapping) {
  tree_.Link("proc/42/map_files/1000-3000", mapped_);
  EXPECT_EQ(Open(), "the mapped file");
}

TEST_F(FileFinderTest, ThroughTheRootOfTheProcess) {
  id_.path = "/app/library";
  tree_.Write("container/app/other", "");
  tree_.Link("proc/42/root", tree_.Path("container"));
  std::filesystem::create_hard_link(mapped_, tree_.Path("container/app/library"));
  EXPECT_EQ(Open(), "the mapped file");
}

TEST_F(FileFinderTest, ThroughItsPath) {
  id_.path = mapped_;
  EXPECT_EQ(Open(), "the mapped file");
  id_.path = mapped_ + " (deleted)";  // its other name is not
  EXPECT_EQ(Open(), "the mapped file");
}

TEST_F(FileFinderTest, ThroughAnotherMappingOfTheSameFile) {
  tree_.Link("proc/42/map_files/8000-9000", mapped_);
  tree_.Write("proc/42/maps",
              MapsLine("00007000-00008000", ObjectId{}) + MapsLine("00008000-00009000", id_));
  EXPECT_EQ(Open(), "the mapped file");
}

TEST_F(FileFinderTest, NeverAnotherFileInItsPlace) {
  const std::string other = tree_.Write("files/other", "another file");
  id_.path = other;
  tree_.Link("proc/42/map_files/1000-3000", other);
  tree_.Write("proc/42/maps", MapsLine("00001000-00003000", IdOf(other)));
  const Result<FoundFile> file = finder_.Open(id_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(file.error().message, "file gone: the mapping is gone; " + tree_.Path("proc/42/root") +
                                      ": no such file or directory; " + other +
                                      ": another file is there now");
}

TEST_F(FileFinderTest, OnOverlayTheMapsOfTheProcessDecide) {
  // stat of the file gives other numbers than maps had: as on overlayfs.
  id_.device_major += 7;
  tree_.Link("proc/42/map_files/1000-3000", mapped_);
  EXPECT_THAT(Open(), HasSubstr("file gone"));
  tree_.Write("proc/42/maps", MapsLine("00001000-00003000", id_));
  EXPECT_EQ(Open(), "the mapped file");
  // The range shows something else by now.
  ObjectId later = id_;
  ++later.inode;
  tree_.Write("proc/42/maps", MapsLine("00001000-00003000", later));
  EXPECT_THAT(Open(), HasSubstr("file gone"));
  // Its path does not distinguish it from a replaced one.
  id_.path = mapped_;
  EXPECT_THAT(Open(), HasSubstr("another file is there now"));
}

TEST_F(FileFinderTest, SaysWhatWasTried) {
  EXPECT_THAT(Open(), AllOf(HasSubstr("file gone: "), HasSubstr("/map_files/1000-3000: no such"),
                            HasSubstr("/42/root"), HasSubstr("gone/library: no such")));
  id_.pid = 0;
  EXPECT_EQ(Open(), "error: file gone: " + id_.path + ": no such file or directory");
}

TEST_F(FileFinderTest, OpensNothingButRegularFiles) {
  const std::string fifo = tree_.Path("files/fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  id_ = IdOf(fifo);
  // Would wait for a writer if it were opened.
  EXPECT_EQ(Open(), "error: file gone: " + fifo + ": not a regular file");
  id_ = IdOf("/dev/null");
  EXPECT_EQ(Open(), "error: file gone: /dev/null: not a regular file");
}

TEST_F(FileFinderTest, AnonymousMemoryIsNoFile) {
  id_.inode = 0;
  id_.path = "";
  tree_.Write("proc/42/maps", MapsLine("00001000-00003000", id_));
  EXPECT_EQ(Open(), "error: not a file");
}

TEST_F(FileFinderTest, TheStampDistinguishesContents) {
  id_.path = mapped_;
  const FileStamp first = finder_.Open(id_)->stamp;
  EXPECT_EQ(first, finder_.Open(id_)->stamp);
  EXPECT_EQ(first.bytes, 15u);
  tree_.Write("files/library", "rewritten in place");
  const FileStamp second = finder_.Open(id_)->stamp;
  EXPECT_EQ(first.inode, second.inode);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace profd::elf
