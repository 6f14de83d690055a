#include "daemon/elf/sources/object_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/elf/sources/vdso.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/reader/message.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"
#include "tests/support/direct_objects.h"
#include "tests/support/eventually.h"
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

class ObjectRemoteTest : public ::testing::Test {
 protected:
  test::TempFolder tree_;
  test::DirectObjects source_{ProcFs(tree_.Path("proc"))};
};

TEST_F(ObjectRemoteTest, ReadsAFileOnceWhileItsObjectIsHeld) {
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

TEST_F(ObjectRemoteTest, ReadsItAgainWhenItIsNotHeld) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ASSERT_TRUE(source_.Load(IdOf(path)));
  ASSERT_TRUE(source_.Load(IdOf(path)));
  EXPECT_EQ(source_.counters().files_read.value(), 2u);
}

TEST_F(ObjectRemoteTest, NoticesAFileRewrittenInPlace) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  const Result<ObjectRef> first = source_.Load(IdOf(path));
  ElfPlan plan = SmallPlan();
  plan.symtab[0].name = "rewritten";
  tree_.Write("library", BuildElf(plan));
  const Result<ObjectRef> second = source_.Load(IdOf(path));
  EXPECT_EQ((*first)->FindSymbol(0x2000)->name, "alpha");
  EXPECT_EQ((*second)->FindSymbol(0x2000)->name, "rewritten");
}

class ObjectCacheTest : public ObjectRemoteTest {
 protected:
  // An ObjectClient of a daemon that has just begun.
  [[nodiscard]] std::unique_ptr<test::DirectObjects> Begin(const ObjectSettings& settings = {}) {
    cache_.reset();
    cache_ = std::make_unique<reader::AnswerCache>(
        reader::AnswerCacheSettings{tree_.Path("files.db"), 64u << 20, "profd", "boot"});
    return std::make_unique<test::DirectObjects>(ProcFs(tree_.Path("proc")), settings, nullptr,
                                                 nullptr, nullptr, cache_.get());
  }
  std::unique_ptr<reader::AnswerCache> cache_;
};

TEST_F(ObjectCacheTest, TheNextDaemonReadsNoFileThatIsKnown) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ASSERT_TRUE(Begin()->Load(IdOf(path)));
  const auto source = Begin();
  const auto object = source->Load(IdOf(path));
  ASSERT_TRUE(object);
  EXPECT_EQ(source->counters().files_read.value(), 0u);
  EXPECT_EQ((*object)->FindSymbol(0x2000)->name, "alpha");
  EXPECT_EQ((*object)->info().symbols_from, SymbolOrigin::kSymtab);
}

TEST_F(ObjectCacheTest, SymbolsInAnIndexAreKeptWithIt) {
  ElfPlan plan;
  for (std::uint64_t i = 0; i < 500; ++i)
    plan.symtab.push_back({"function_" + std::to_string(i), 0x2000 + 4 * i, 4});
  const std::string path = tree_.Write("library", BuildElf(plan) + std::string(1u << 20, '\0'));
  ObjectSettings small;
  small.elf.table_bytes = 4'096;
  ASSERT_TRUE(Begin(small)->Load(IdOf(path)));
  const auto source = Begin(small);
  const auto object = source->Load(IdOf(path));
  ASSERT_TRUE(object);
  EXPECT_EQ(source->counters().files_read.value(), 0u);
  for (std::uint64_t i = 0; i < 500; i += 7) {
    const auto symbol = (*object)->FindSymbol(0x2000 + 4 * i + 1);
    ASSERT_TRUE(symbol) << i;
    EXPECT_EQ(symbol->name, "function_" + std::to_string(i));
  }
}

TEST_F(ObjectCacheTest, AFileThatHasChangedIsReadAgain) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ASSERT_TRUE(Begin()->Load(IdOf(path)));
  ElfPlan plan = SmallPlan();
  plan.symtab[0].name = "rewritten";
  tree_.Write("library", BuildElf(plan));
  EXPECT_EQ((*Begin()->Load(IdOf(path)))->FindSymbol(0x2000)->name, "rewritten");
}

TEST_F(ObjectCacheTest, PlacesInTheSourceAreKeptWithTheirFrames) {
  const auto settings = test::WithDebugFiles();
  std::vector<SourceFrame> first;
  std::uint64_t vaddr = 0;
  {
    const auto source = Begin(settings);
    const auto object = source->Load(IdOf(PROFD_INLINES_DWARF5));
    ASSERT_TRUE(object);
    const auto segments = (*object)->info().segments;
    const auto code = std::ranges::find(segments, true, &LoadSegment::executable);
    ASSERT_NE(code, segments.end());
    for (vaddr = code->vaddr; first.size() < 2 && vaddr < code->vaddr + code->file_bytes; ++vaddr)
      first = (*object)->FindSource(vaddr);
    ASSERT_GE(first.size(), 2u) << "no inlined call";
    --vaddr;
  }
  std::filesystem::copy(PROFD_INLINES_DWARF5, tree_.Path("copy"));
  const auto source = Begin(settings);
  const auto object = source->Load(IdOf(PROFD_INLINES_DWARF5));
  ASSERT_TRUE(object);
  const std::uint64_t found = cache_->counters().found.value();
  EXPECT_EQ((*object)->FindSource(vaddr), first);
  EXPECT_EQ(source->counters().files_read.value(), 0u);
  EXPECT_EQ(cache_->counters().found.value(), found + 1);
  const auto copy = source->Load(IdOf(tree_.Path("copy")));
  ASSERT_TRUE(copy);
  EXPECT_EQ(source->counters().files_read.value(), 1u) << "the same build, but another file";
}

TEST_F(ObjectCacheTest, WhatMayBecomeBetterIsNotKept) {
  // Its debug file may be installed later.
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ASSERT_TRUE(Begin(test::WithDebugFiles())->Load(IdOf(path)));
  const auto source = Begin(test::WithDebugFiles());
  ASSERT_TRUE(source->Load(IdOf(path)));
  EXPECT_EQ(source->counters().files_read.value(), 1u);
}

elf::ObjectSettings FewSymbols() {
  elf::ObjectSettings settings;
  settings.elf.symbols = 20;
  return settings;
}

TEST_F(ObjectRemoteTest, SymbolsOfALargeFileAreInAnIndex) {
  ElfPlan plan;
  for (std::uint64_t i = 0; i < 500; ++i)
    plan.symtab.push_back({"function_" + std::to_string(i), 0x2000 + 4 * i, 4});
  const std::string path = tree_.Write("library", BuildElf(plan));
  ObjectSettings small_tables;
  small_tables.elf.table_symbols = 499;
  ObjectSettings short_names;
  short_names.elf.table_string_bytes = 5'000;
  std::vector<ObjectRef> objects;
  for (const ObjectSettings& settings :
       {FewSymbols(), small_tables, short_names, ObjectSettings()}) {
    test::DirectObjects source(ProcFs(tree_.Path("proc")), settings);
    const Result<ObjectRef> object = source.Load(IdOf(path));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ((*object)->info().symbols_from, SymbolOrigin::kSymtab);
    EXPECT_EQ((*object)->info().symbols_missing, "");
    for (std::uint64_t i = 0; i < 500; i += 7)
      ASSERT_EQ((*object)->FindSymbol(0x2000 + 4 * i + 1)->name, "function_" + std::to_string(i));
    EXPECT_EQ((*object)->FindSymbol(0x1fff), std::nullopt);
    objects.push_back(*object);
  }
  std::filesystem::remove(path);
  for (const ObjectRef& object : objects)
    EXPECT_EQ(object->FindSymbol(0x2001)->name, "function_0") << "it needs the file no more";
  // The last one is a table in memory.
  for (std::size_t i = 0; i + 1 < objects.size(); ++i)
    EXPECT_LT(objects[i]->bytes(), objects.back()->bytes() / 2) << i;
}

TEST_F(ObjectRemoteTest, ALargeTableOfAnyKindIsInAnIndex) {
  ElfPlan plan;
  for (std::uint64_t i = 0; i < 500; ++i)
    plan.dynsym.push_back({"function_" + std::to_string(i), 0x2000 + 4 * i, 4});
  // A smaller file gets no index in any case.
  const std::string path = tree_.Write("library", BuildElf(plan) + std::string(1u << 20, '\0'));
  ObjectSettings small;
  small.elf.table_bytes = 4'096;
  std::vector<std::size_t> bytes;
  for (const ObjectSettings& settings : {small, ObjectSettings()}) {
    test::DirectObjects source(ProcFs(tree_.Path("proc")), settings);
    const Result<ObjectRef> object = source.Load(IdOf(path));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ((*object)->info().symbols_from, SymbolOrigin::kDynsym);
    for (std::uint64_t i = 0; i < 500; i += 7)
      ASSERT_EQ((*object)->FindSymbol(0x2000 + 4 * i + 1)->name, "function_" + std::to_string(i));
    EXPECT_EQ((*object)->FindSymbol(0x1fff), std::nullopt);
    bytes.push_back((*object)->bytes());
  }
  EXPECT_LT(bytes[0], bytes[1] / 2);
}

TEST_F(ObjectRemoteTest, TooManySymbolsForAnIndexAreAReason) {
  ElfPlan plan;
  plan.dynsym = {{"exported", 0x2000, 0x10}};
  for (int i = 0; i < 50; ++i) plan.symtab.push_back({"f" + std::to_string(i), 0x2000, 0x700});
  const std::string path = tree_.Write("library", BuildElf(plan));
  test::DirectObjects source(ProcFs(tree_.Path("proc")), FewSymbols());
  const Result<ObjectRef> object = source.Load(IdOf(path));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ((*object)->info().symbols_missing, "too many symbols in one place");
  EXPECT_EQ((*object)->FindSymbol(0x2001)->name, "exported");
}

// Two functions at the begin of each piece.
class FakeFunctions : public FunctionFinder {
 public:
  explicit FakeFunctions(std::vector<std::uint64_t>& requested) : requested_(requested) {}
  Result<std::vector<FunctionExtent>> Find(const FileStamp& stamp,
                                           const std::function<Result<UniqueFd>()>& open,
                                           std::uint64_t piece) override {
    requested_.push_back(piece);
    const auto fd = open();
    if (!fd) return fd.error();
    struct stat file {};
    EXPECT_EQ(::fstat(fd->get(), &file), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(file.st_size), stamp.bytes);
    return std::vector<FunctionExtent>{{piece, piece + 0x10}, {piece + 0x40, piece + 0x50}};
  }

 private:
  std::vector<std::uint64_t>& requested_;
};

TEST_F(ObjectRemoteTest, FunctionsWithoutASymbolAreWhereTheCodeSaysSo) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  std::vector<std::uint64_t> requested;
  test::DirectObjects source(ProcFs(tree_.Path("proc")), {}, nullptr, nullptr,
                             std::make_unique<FakeFunctions>(requested));
  const Result<ObjectRef> object = source.Load(IdOf(path));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ((*object)->FindSymbol(0x2000)->name, "alpha");
  EXPECT_THAT(requested, ::testing::IsEmpty()) << "a symbol says it";
  EXPECT_EQ((*object)->FindSymbol(0x12345), std::nullopt);
  EXPECT_EQ((*object)->FindSymbol(0x10049), (SymbolRange{0x10040, 0x10050, ""}));
  EXPECT_EQ((*object)->FindSymbol(0x1000f), (SymbolRange{0x10000, 0x10010, ""}));
  EXPECT_EQ((*object)->FindSymbol(0x30000), (SymbolRange{0x30000, 0x30010, ""}));
  EXPECT_THAT(requested, ::testing::ElementsAre(0x10000, 0x30000)) << "a piece is read once";
}

TEST(ObjectRemote, NonsenseAboutFunctionsIsNoFunction) {
  const auto pack = [](std::initializer_list<std::uint64_t> bounds) {
    reader::Packer fields;
    fields.Number(static_cast<std::uint32_t>(bounds.size() / 2));
    for (const std::uint64_t bound : bounds) fields.Number(bound);
    return fields.Take();
  };
  for (const std::string& answer :
       {pack({0x10010, 0x10000}), pack({0x10000, 0x10010, 0x10008, 0x10020}), std::string("x"),
        pack({0x10000, 0x10010}) + "more"}) {
    test::LyingReaders readers;
    ObjectContents contents;
    contents.info.segments = {{0, 0, 0x20000, true}};
    readers.answers = {reader::Packer().Plain(FileStamp{}).Take(), PackContents(contents), answer};
    ObjectClient client(readers, {});
    ObjectId id;
    id.inode = 1;
    const auto object = client.Load(id);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ((*object)->FindSymbol(0x10000), std::nullopt);
    EXPECT_EQ((*object)->FindSymbol(0x10009), std::nullopt);
    EXPECT_EQ(readers.targets.size(), 3u) << "requested once";
  }
}

TEST_F(ObjectRemoteTest, SaysWhyThereIsNone) {
  const std::string path = tree_.Write("text", "no program");
  ObjectId id = IdOf(path);
  EXPECT_EQ(source_.Load(id).error().message, "cannot read the file: not an ELF file");
  std::filesystem::remove(path);
  EXPECT_EQ(source_.Load(id).error().message, "file gone: " + path + ": no such file or directory");
  EXPECT_EQ(source_.counters().failures.value(), 2u);
}

TEST_F(ObjectRemoteTest, ForgetsFilesThatAreNotHeld) {
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

TEST_F(ObjectRemoteTest, TheVdsoIsOurOwn) {
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

TEST_F(ObjectRemoteTest, WhatWasWrittenAfterItWasMappedIsNotWhatRan) {
  const std::string path = tree_.Write("library", BuildElf(SmallPlan()));
  ObjectId id = IdOf(path);
  const auto now_ns = [] { return SystemClock().MonotonicNs(); };
  // The kernel dates a file by a clock that ticks: it must have ticked.
  const auto written = std::filesystem::last_write_time(path);
  ASSERT_TRUE(test::Eventually([&] {
    tree_.Write("later", "");
    return std::filesystem::last_write_time(tree_.Path("later")) > written;
  }));
  id.mapped_ns = now_ns();
  ASSERT_TRUE(source_.Load(id)) << source_.Load(id).error().message;
  const auto mapped = std::filesystem::file_time_type::clock::now();
  ASSERT_TRUE(test::Eventually([&] {
    tree_.Write("library", BuildElf(SmallPlan()));
    return std::filesystem::last_write_time(path) > mapped;
  }));
  EXPECT_EQ(source_.Load(id).error().message, "file gone: it was rewritten after it was mapped");
  // Dates in the future say nothing.
  std::filesystem::last_write_time(path, mapped + std::chrono::hours(24));
  EXPECT_TRUE(source_.Load(id));
  // Mapped again.
  std::filesystem::last_write_time(path, mapped);
  id.mapped_ns = now_ns();
  EXPECT_TRUE(source_.Load(id));
}

// By readers as profd has them: with no right, and few system calls.
TEST(ObjectRemote, ASandboxedParserHasWhatOneInThisProcessHas) {
  constexpr std::chrono::milliseconds kLong{60'000};
  auto zygote = reader::Zygote::Start(
      {{"test-symbols", {}, [] { return std::make_unique<ObjectParser>(); }}});
  ASSERT_TRUE(zygote) << zygote.error().message;
  ObjectSettings settings = test::WithDebugFiles();
  for (const std::uint64_t eager_bytes : {settings.eager_bytes, std::uint64_t{0}}) {
    settings.eager_bytes = eager_bytes;  // 0: paged, and unpacked to a temporary file
    reader::ReaderPool readers(**zygote, 0, {.deadline = kLong});
    ObjectClient sandboxed(readers, settings);
    test::DirectObjects direct(ProcFs(), settings);
    for (const char* path : {PROFD_INLINES_DWARF5, PROFD_INLINES_ZLIB}) {
      const auto object = sandboxed.Load(IdOf(path));
      const auto expected = direct.Load(IdOf(path));
      ASSERT_TRUE(object) << object.error().message;
      ASSERT_TRUE(expected) << expected.error().message;
      EXPECT_EQ((*object)->info(), (*expected)->info());
      std::size_t frames = 0;
      for (std::uint64_t at = 0x1000; at < 0x4000; at += 7) {
        EXPECT_EQ((*object)->FindSymbol(at), (*expected)->FindSymbol(at));
        const auto source = (*object)->FindSource(at);
        ASSERT_EQ(source, (*expected)->FindSource(at)) << path << std::hex << at;
        frames += source.size();
      }
      EXPECT_GT(frames, 100u) << path;
    }
    EXPECT_EQ(readers.counters().ended.value(), 0u);
  }
}

TEST(ObjectRemote, ASandboxedParserWritesAnIndex) {
  auto zygote = reader::Zygote::Start(
      {{"test-symbols", {}, [] { return std::make_unique<ObjectParser>(); }}});
  ASSERT_TRUE(zygote) << zygote.error().message;
  reader::ReaderPool readers(**zygote, 0, {.deadline = std::chrono::milliseconds(60'000)});
  ObjectClient sandboxed(readers, FewSymbols());
  test::DirectObjects direct;
  const auto object = sandboxed.Load(IdOf(PROFD_INLINES_DWARF5));
  const auto expected = direct.Load(IdOf(PROFD_INLINES_DWARF5));
  ASSERT_TRUE(object && expected);
  EXPECT_EQ((*object)->info().symbols_missing, "");
  for (std::uint64_t at = 0x1000; at < 0x4000; ++at)
    ASSERT_EQ((*object)->FindSymbol(at), (*expected)->FindSymbol(at)) << at;
  EXPECT_EQ(readers.counters().ended.value(), 0u);
}

TEST(ObjectRemote, AnswersThatMakeNoSenseAreRefused) {
  const std::string stamp = reader::Packer().Plain(FileStamp{}).Take();
  const auto with = [](std::span<const SymbolTable::Entry> entries, std::string_view index = "") {
    reader::Packer fields;
    fields.Number(false).Number(false).Number(false).Number(true).Text("id").Number(
        SymbolOrigin::kSymtab);
    for (int text = 0; text < 4; ++text) fields.Text("");
    fields.Number(std::uint32_t{0});
    fields.Text({reinterpret_cast<const char*>(entries.data()), entries.size_bytes()});
    return fields.Text(std::string_view("name\0", 5)).Text(index).Take();
  };
  const std::array<SymbolTable::Entry, 2> good{{{16, 8, 0}, {32, 8, 0}}};
  const std::array<SymbolTable::Entry, 2> unordered{{{32, 8, 0}, {16, 8, 0}}};
  const std::array<SymbolTable::Entry, 2> overlapping{{{16, 20, 0}, {32, 8, 0}}};
  const std::array<SymbolTable::Entry, 1> endless{{{~std::uint64_t{0} - 2, 8, 0}}};
  const auto load = [&](std::vector<std::string> answers) {
    test::LyingReaders liar;
    liar.answers = std::move(answers);
    ObjectId id;
    id.inode = 1;
    return ObjectClient(liar, {}).Load(id);
  };
  ASSERT_TRUE(load({stamp, with(good)}));
  EXPECT_EQ((*load({stamp, with(good)}))->FindSymbol(33)->name, "name");
  EXPECT_FALSE(load({""}));
  EXPECT_FALSE(load({stamp + "x"}));
  EXPECT_FALSE(load({stamp, ""}));
  EXPECT_FALSE(load({stamp, with(good) + "x"}));
  EXPECT_FALSE(load({stamp, with(good).substr(0, 40)}));
  EXPECT_FALSE(load({stamp, with(unordered)}));
  EXPECT_FALSE(load({stamp, with(overlapping)}));
  EXPECT_FALSE(load({stamp, with(endless)}));
  EXPECT_FALSE(load({stamp, with(good, "not of blocks")}));
}

// Answers nothing in time, and later all.
class LateReaders : public test::DirectReaders {
 public:
  LateReaders() : DirectReaders(std::make_unique<ObjectParser>()) {}
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds patience) override {
    if (late) return Error{ErrorCode::kUnavailable, request.name + ": is being read", ""};
    return DirectReaders::Ask(request, patience);
  }
  bool late = true;
};

TEST(ObjectRemote, WhatIsLateIsThereAfterTheNextImprovement) {
  LateReaders readers;
  ObjectClient client(readers, {});
  const ObjectId id = IdOf(PROFD_INLINES_DWARF5);
  EXPECT_EQ(client.Load(id).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(client.improvements(), 0u);
  readers.late = false;
  ASSERT_TRUE(test::Eventually([&] { return client.improvements() == 1; }));
  EXPECT_TRUE(client.Load(id));
}

}  // namespace
}  // namespace profd::elf
