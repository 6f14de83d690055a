#include "daemon/elf/sources/file_object_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <set>
#include <string>

#include "daemon/elf/sources/vdso.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/elf/elf_builder.h"
#include "tests/unit/elf/file_id.h"

namespace profd::elf {
namespace {

using testing::BuildElf;
using testing::ElfPlan;
using ::testing::HasSubstr;
using testing::IdOf;
using testing::SmallPlan;

class FileObjectSourceTest : public ::testing::Test {
 protected:
  test::TempFolder tree_;
  FileObjectSource source_{ProcFs(tree_.Path("proc"))};
};

TEST_F(FileObjectSourceTest, ReadsAFileOnceWhileItsObjectIsHeld) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  std::filesystem::create_hard_link(path, tree_.Path("other_name"));
  const Result<ObjectRef> first = source_.Load(IdOf(path));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->FindSymbol(0x2000)->name, "alpha");
  const Result<ObjectRef> second = source_.Load(IdOf(tree_.Path("other_name")));
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(source_.counters().loads.value(), 2u);
  EXPECT_EQ(source_.counters().files_read.value(), 1u);
}

TEST_F(FileObjectSourceTest, ReadsItAgainWhenItIsNotHeld) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ASSERT_TRUE(source_.Load(IdOf(path)));
  ASSERT_TRUE(source_.Load(IdOf(path)));
  EXPECT_EQ(source_.counters().files_read.value(), 2u);
}

TEST_F(FileObjectSourceTest, NoticesAFileRewrittenInPlace) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  const Result<ObjectRef> first = source_.Load(IdOf(path));
  ElfPlan plan = SmallPlan();
  plan.symtab[0].name = "rewritten";
  tree_.Write("library", BuildElf(plan));
  const Result<ObjectRef> second = source_.Load(IdOf(path));
  EXPECT_EQ((*first)->FindSymbol(0x2000)->name, "alpha");
  EXPECT_EQ((*second)->FindSymbol(0x2000)->name, "rewritten");
}

TEST_F(FileObjectSourceTest, SaysWhyThereIsNone) {
  const std::string path = tree_.Write("text", "no program");
  ObjectId id = IdOf(path);
  EXPECT_EQ(source_.Load(id).error().message, "cannot read the file: not an ELF file");
  std::filesystem::remove(path);
  EXPECT_EQ(source_.Load(id).error().message, "file gone: " + path + ": no such file or directory");
  EXPECT_EQ(source_.counters().failures.value(), 2u);
}

TEST_F(FileObjectSourceTest, ForgetsFilesThatAreNotHeld) {
  // Many files one after the other; each is dropped at once, so none may be confused with a later
  // one that gets its inode number.
  for (int i = 0; i < 300; ++i) {
    ElfPlan plan = SmallPlan();
    plan.symtab[0].name = "function_" + std::to_string(i);
    const std::string path = tree_.Write("library", BuildElf(plan));
    const Result<ObjectRef> object = source_.Load(IdOf(path));
    ASSERT_EQ((*object)->FindSymbol(0x2000)->name, plan.symtab[0].name);
    std::filesystem::remove(path);
  }
}

TEST_F(FileObjectSourceTest, TheVdsoIsOurOwn) {
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "this kernel maps no vdso";
  ObjectId id;
  id.path = kVdsoPath;
  id.map_start = 0x7ffc00000000;
  id.map_end = id.map_start + 0x2000;
  const Result<ObjectRef> vdso = source_.Load(id);
  ASSERT_TRUE(vdso) << vdso.error().message;
  EXPECT_NE((*vdso)->info().build_id, "");
  std::set<std::string> names;
  for (const LoadSegment& segment : (*vdso)->info().segments) {
    for (std::uint64_t offset = 0; offset < segment.file_bytes; ++offset) {
      if (const auto symbol = (*vdso)->FindSymbol(segment.vaddr + offset))
        names.emplace(symbol->name);
    }
  }
  // The weak name without underscores is an alias of the global one with them.
  EXPECT_TRUE(names.contains("clock_gettime") || names.contains("__vdso_clock_gettime"))
      << ::testing::PrintToString(names);
  EXPECT_EQ(*source_.Load(id), *vdso);
  EXPECT_EQ(source_.counters().files_read.value(), 0u);

  id.map_start = 0xf7f00000;
  id.map_end = 0xf7f02000;
  EXPECT_EQ(source_.Load(id).error().message, "the vdso of a 32-bit process");
}

}  // namespace
}  // namespace profd::elf
