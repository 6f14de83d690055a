// Symbols of files that are gone when their frames get names.
#include "daemon/elf/sources/kept_symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "daemon/elf/symbols/elf_reader.h"
#include "tests/support/direct_objects.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/elf/elf_builder.h"
#include "tests/unit/elf/file_id.h"

namespace profd::elf {
namespace {

using testing::BuildElf;
using testing::SmallPlan;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBoot = 1'000'000 * kSecond;  // CLOCK_REALTIME then
constexpr KeptSymbols::Mapping kMapping{42, 0x1000, 0x2000};

// With one function at 0x2000.
std::string ContentsOf(const std::string& function) {
  auto plan = SmallPlan();
  plan.symtab[0].name = function;
  const std::string file = BuildElf(plan);
  auto read = ReadElfContents(MemoryBytes(std::as_bytes(std::span(file))));
  EXPECT_TRUE(read);
  ObjectContents contents;
  contents.symbols = MakeSymbols(*read);
  contents.info = std::move(read->info);
  return PackContents(contents);
}

class KeptSymbolsTest : public ::testing::Test {
 protected:
  void At(std::int64_t second) {
    clock_.Set(static_cast<std::uint64_t>(second * kSecond),
               static_cast<std::uint64_t>(kBoot + second * kSecond));
  }
  static FileStamp Stamp(std::int64_t modified_s, std::uint64_t inode = 7) {
    const std::int64_t ns = kBoot + modified_s * kSecond;
    return {.device = makedev(8, 1),
            .inode = inode,
            .bytes = 1000,
            .modified_ns = ns,
            .changed_ns = ns};
  }
  static ObjectId Id(std::int64_t mapped_s) {
    return {.path = "/x",
            .device_major = 8,
            .device_minor = 1,
            .inode = 7,
            .pid = 1,
            .map_start = 1,
            .map_end = 2,
            .mapped_ns = static_cast<std::uint64_t>(mapped_s * kSecond)};
  }
  bool See(const FileStamp& stamp, std::int64_t second,
           const KeptSymbols::Mapping& mapping = kMapping) {
    return kept_.See(stamp, mapping, static_cast<std::uint64_t>(second * kSecond));
  }
  // "": none.
  std::string NameIn(const ObjectId& id) {
    const auto found = kept_.Find(id);
    if (!found) return "";
    const auto symbol = found->symbols.Find(0x2000);
    return symbol ? std::string(symbol->name) : "no symbol";
  }

  test::ManualClock clock_;
  KeptSymbols kept_{64u << 10, clock_};
};

TEST_F(KeptSymbolsTest, WantsSmallFilesThatAreNewOnce) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 2000));
  EXPECT_FALSE(See(Stamp(1990), 2000)) << "it is known";
  EXPECT_FALSE(See(Stamp(2000 - 601), 2000)) << "it is old";
  FileStamp renamed = Stamp(100, 8);
  renamed.changed_ns = Stamp(1990).changed_ns;
  EXPECT_TRUE(See(renamed, 2000)) << "it was put there a moment ago";
  FileStamp large = Stamp(1990, 9);
  large.bytes = KeptSymbols::kMaxFileBytes + 1;
  EXPECT_FALSE(See(large, 2000));
}

TEST_F(KeptSymbolsTest, EachMappingHasTheNamesOfItsContents) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 1996));
  kept_.Keep(Stamp(1990), ContentsOf("first"));
  EXPECT_TRUE(See(Stamp(1997), 1999));
  kept_.Keep(Stamp(1997), ContentsOf("second"));
  EXPECT_EQ(NameIn(Id(1995)), "first");
  EXPECT_EQ(NameIn(Id(1998)), "second");
}

TEST_F(KeptSymbolsTest, WhatWasMappedAfterTheFileWasSeenMayBeAnother) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 1996));
  kept_.Keep(Stamp(1990), ContentsOf("first"));
  EXPECT_EQ(NameIn(Id(1997)), "");
  // Mapped again, and still the same.
  EXPECT_FALSE(See(Stamp(1990), 1998));
  EXPECT_EQ(NameIn(Id(1997)), "first");
  ObjectId unknown = Id(1997);
  unknown.mapped_ns = 0;
  EXPECT_EQ(NameIn(unknown), "");
}

TEST_F(KeptSymbolsTest, AYoungerFileWithItsNumberIsAnotherWhateverItsDate) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 1996));
  kept_.Keep(Stamp(1990), ContentsOf("first"));
  FileStamp unpacked = Stamp(1994);
  unpacked.changed_ns = Stamp(1997).changed_ns;
  EXPECT_TRUE(See(unpacked, 1999));
  kept_.Keep(unpacked, ContentsOf("unpacked"));
  EXPECT_EQ(NameIn(Id(1995)), "first");
  EXPECT_EQ(NameIn(Id(1998)), "unpacked");
}

TEST_F(KeptSymbolsTest, ItIsTheSameFileByItsNumbersOrByItsMapping) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 1996));
  kept_.Keep(Stamp(1990), ContentsOf("first"));
  ObjectId other = Id(1995);
  other.inode = 8;
  EXPECT_EQ(NameIn(other), "");
  other.pid = kMapping.pid;
  other.map_start = kMapping.begin;
  other.map_end = kMapping.end;
  EXPECT_EQ(NameIn(other), "first") << "as on overlayfs";
  ObjectId elsewhere = Id(1995);
  elsewhere.device_minor = 2;
  EXPECT_EQ(NameIn(elsewhere), "");
}

TEST_F(KeptSymbolsTest, MemoryIsBoundedAndWhatWasUsedLongestAgoLeavesFirst) {
  At(2000);
  for (std::uint64_t inode = 7; inode < 107; ++inode) {
    EXPECT_TRUE(See(Stamp(1990, inode), 1996));
    kept_.Keep(Stamp(1990, inode), ContentsOf(std::string(2000, 'x')));
    EXPECT_LE(kept_.memory().bytes(), 64u << 10);
  }
  EXPECT_EQ(NameIn(Id(1995)), "");
  ObjectId last = Id(1995);
  last.inode = 106;
  EXPECT_EQ(NameIn(last), std::string(2000, 'x'));
  kept_.memory().RequestReclaim(60u << 10);
  kept_.Keep(Stamp(1990, 106), ContentsOf("last"));
  EXPECT_LE(kept_.memory().bytes(), 8u << 10);
}

TEST_F(KeptSymbolsTest, WhatMakesNoSenseIsNoAnswer) {
  At(2000);
  EXPECT_TRUE(See(Stamp(1990), 1996));
  EXPECT_EQ(NameIn(Id(1995)), "") << "not read yet";
  kept_.Keep(Stamp(1990), std::string(1000, '\xff'));
  EXPECT_EQ(NameIn(Id(1995)), "");
  kept_.Keep(Stamp(1990), std::string(KeptSymbols::kMaxFileBytes + 1, 'x'));
  EXPECT_LT(kept_.memory().bytes(), 2000u);
  kept_.Keep(Stamp(1991), ContentsOf("unwanted"));
  EXPECT_EQ(NameIn(Id(1995)), "");
}

// With real files, as the symbolizer has them.
class GoneFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = tree_.Write("library", BuildElf(SmallPlan()));
    id_ = testing::IdOf(path_);
    // The kernel dates a file by a clock that ticks: it must have ticked.
    const auto written = std::filesystem::last_write_time(path_);
    ASSERT_TRUE(test::Eventually([&] {
      tree_.Write("later", "");
      return std::filesystem::last_write_time(tree_.Path("later")) > written;
    }));
    id_.mapped_ns = clock_.MonotonicNs();
    auto opened = FoundIn(UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)));
    ASSERT_TRUE(opened);
    ASSERT_TRUE(kept_.See(opened->stamp, {}, clock_.MonotonicNs()));
    kept_.Keep(opened->stamp, ContentsOf("kept"));
  }
  std::string Name() {
    const auto object = source_.Load(id_);
    if (!object) return object.error().message;
    info_ = (*object)->info();
    const auto symbol = (*object)->FindSymbol(0x2000);
    return symbol ? std::string(symbol->name) : "no symbol";
  }

  const SystemClock clock_;
  KeptSymbols kept_{1u << 20, clock_};
  test::TempFolder tree_;
  test::DirectObjects source_{ProcFs(tree_.Path("proc")), {}, nullptr, &kept_};
  std::string path_;
  ObjectId id_;
  ObjectInfo info_;
};

TEST_F(GoneFileTest, AsLongAsItIsThereTheFileItselfIsRead) { EXPECT_EQ(Name(), "alpha"); }

TEST_F(GoneFileTest, Rewritten) {
  auto plan = SmallPlan();
  plan.symtab[0].name = "rewritten";
  const auto mapped = std::filesystem::file_time_type::clock::now();
  ASSERT_TRUE(test::Eventually([&] {
    tree_.Write("library", BuildElf(plan));
    return std::filesystem::last_write_time(path_) > mapped;
  }));
  EXPECT_EQ(Name(), "kept");
  EXPECT_EQ(info_.debug_missing,
            "file gone: it was rewritten after it was mapped; its symbols were kept");
}

TEST_F(GoneFileTest, Replaced) {
  auto plan = SmallPlan();
  plan.symtab[0].name = "another";
  std::filesystem::rename(tree_.Write("new", BuildElf(plan)), path_);
  EXPECT_EQ(Name(), "kept");
}

TEST_F(GoneFileTest, Removed) {
  std::filesystem::remove(path_);
  EXPECT_EQ(Name(), "kept");
}

TEST_F(GoneFileTest, OfAnotherTimeThereIsNone) {
  std::filesystem::remove(path_);
  id_.mapped_ns = clock_.MonotonicNs();
  EXPECT_EQ(Name(), "file gone: " + path_ + ": no such file or directory");
}

}  // namespace
}  // namespace profd::elf
