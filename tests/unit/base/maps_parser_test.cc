#include "daemon/base/proc/maps_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "daemon/base/proc/proc_fs.h"

namespace profd {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MapsParserTest, FileMapping) {
  const auto line = ParseMapsLine(
      "7f5d2c826000-7f5d2c97c000 r-xp 00026000 fe:10 326269                     "
      "/usr/lib/x86_64-linux-gnu/libc.so.6");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->start, 0x7f5d2c826000u);
  EXPECT_EQ(line->end, 0x7f5d2c97c000u);
  EXPECT_EQ(line->file_offset, 0x26000u);
  EXPECT_TRUE(line->executable);
  EXPECT_EQ(line->device_major, 0xfeu);
  EXPECT_EQ(line->device_minor, 0x10u);
  EXPECT_EQ(line->inode, 326269u);
  EXPECT_EQ(line->path, "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(MapsParserTest, AnonymousMappingHasNoPath) {
  const auto line = ParseMapsLine("7f5d2c826000-7f5d2c97c000 rw-p 00000000 00:00 0 ");
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->executable);
  EXPECT_EQ(line->path, "");
  EXPECT_TRUE(ParseMapsLine("1000-2000 rw-p 00000000 00:00 0"));
}

TEST(MapsParserTest, VsyscallIsExecutableAndUnreadable) {
  const auto line = ParseMapsLine(
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->executable);
  EXPECT_EQ(line->start, 0xffffffffff600000u);
  EXPECT_EQ(line->path, "[vsyscall]");
}

TEST(MapsParserTest, NamesKeepTheirSpacesAndBackslashes) {
  EXPECT_EQ(ParseMapsLine("1000-2000 r-xp 0 08:01 5 /a b/c (deleted)")->path, "/a b/c (deleted)");
  EXPECT_EQ(ParseMapsLine("1000-2000 r-xp 0 08:01 5 /a\\012b\\012")->path, "/a\nb\n");
  EXPECT_EQ(ParseMapsLine("1000-2000 r-xp 0 08:01 5 /a\\134b\\")->path, "/a\\134b\\");
}

TEST(MapsParserTest, LinesThatAreNone) {
  for (const char* line : {
           "",
           " ",
           "1000",
           "1000-",
           "1000-2000",
           "1000-2000 ",
           "1000-2000 r-xp",
           "1000-2000 r-xp ",
           "1000-2000 r-x 00000000 08:01 5 /a",
           "1000-2000 r-xpp 00000000 08:01 5 /a",
           "1000-2000 r-xp 00000000",
           "1000-2000 r-xp 00000000 08",
           "1000-2000 r-xp 00000000 08:",
           "1000-2000 r-xp 00000000 08:01",
           "1000-2000 r-xp 00000000 08:01 ",
           "1000-2000 r-xp 00000000 08:01 x",
           "1000-2000 r-xp 00000000 08:01 5x",
           "1000-2000 r-xp -1 08:01 5",
           "2000-1000 r-xp 00000000 08:01 5 /a",
           "1000-1000 r-xp 00000000 08:01 5 /a",
           "1000 -2000 r-xp 00000000 08:01 5 /a",
           "g000-2000 r-xp 00000000 08:01 5 /a",
           "0x1000-2000 r-xp 00000000 08:01 5 /a",
           "10000000000000000-20000000000000000 r-xp 00000000 08:01 5 /a",
           "1000-2000 r-xp 00000000 100000000:01 5 /a",
           "1000-2000 r-xp 00000000 08:01 99999999999999999999999 /a",
       }) {
    EXPECT_FALSE(ParseMapsLine(line)) << "'" << line << "'";
  }
}

TEST(MapsParserTest, EveryCutOfALineIsALineOrNone) {
  const std::string whole = "1000-2000 r-xp 00003000 08:01 5 /usr/bin/true";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const auto line = ParseMapsLine(whole.substr(0, length));
    if (!line) continue;
    EXPECT_EQ(line->start, 0x1000u);
    EXPECT_EQ(line->end, 0x2000u);
    EXPECT_EQ(line->file_offset, 0x3000u);
  }
}

TEST(MapsParserTest, MalformedLinesAreCountedAndTheOthersKept) {
  std::vector<MapsLine> lines;
  const std::string text =
      "1000-2000 r-xp 0 08:01 5 /a\n"
      "garbage\n"
      "\n" +
      std::string("3000-4000 r-\0p 0 08:01 5 /b\n", 28) +
      "5000-6000 r--p 0 08:01 5 /c\n"
      "7000-80";
  EXPECT_EQ(ParseMaps(text, [&](MapsLine&& line) { lines.push_back(std::move(line)); }), 2u);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].path, "/a");
  EXPECT_FALSE(lines[1].executable);  // its third letter is a zero byte
  EXPECT_EQ(lines[2].path, "/c");
  lines.clear();
  EXPECT_EQ(ParseMaps("", [&](MapsLine&& line) { lines.push_back(std::move(line)); }), 0u);
  EXPECT_THAT(lines, IsEmpty());
}

// The kernel's own text: this very function lies in this very program.
TEST(MapsParserTest, OwnMappings) {
  const auto text = ProcFs().Read("self/maps");
  ASSERT_TRUE(text) << text.error().message;
  const auto exe = ProcFs().ReadLink("self/exe");
  ASSERT_TRUE(exe) << exe.error().message;
  const auto code = reinterpret_cast<std::uintptr_t>(&ParseMapsLine);
  std::string found;
  const auto malformed = ParseMaps(*text, [&](MapsLine&& line) {
    if (line.executable && line.start <= code && code < line.end) found = line.path;
  });
  EXPECT_EQ(malformed, 0u);
  EXPECT_EQ(found, *exe);
}

TEST(MapsParserTest, AFileWithoutANameKeepsThatItHad) {
  EXPECT_EQ(WithoutDeleted("/bin/cat (deleted)"), "/bin/cat");
  EXPECT_EQ(WithoutDeleted("/bin/cat"), "/bin/cat");
  EXPECT_EQ(WithoutDeleted("/bin/cat (deleted) x"), "/bin/cat (deleted) x");
}

}  // namespace
}  // namespace profd
