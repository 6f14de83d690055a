#include "daemon/unwind/service/table_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/sources/kept_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/registered/registered_code.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/unwind/table_lookup.h"
#include "tests/unit/unwind/vector_maps.h"

namespace profd::unwind {
namespace {

constexpr std::chrono::minutes kLongest{5};

// Code of this program and of libc, as the kernel maps it.
MapsLine MappingOf(const void* address) {
  const auto maps = ProcFs().Read("self/maps");
  MapsLine found;
  ParseMaps(*maps, [&](MapsLine&& line) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    if (at >= line.start && at < line.end) found = std::move(line);
  });
  return found;
}

class Service : public testing::Test {
 protected:
  void SetUp() override {
    line_ = MappingOf(reinterpret_cast<const void*>(&std::qsort));
    const auto file = CfiClient(readers_).Open({Pid(), line_.start, line_.end}, {});
    ASSERT_TRUE(file) << file.error().message;
    wanted_.key = file->key;
    wanted_.mapping_begin = line_.start;
    wanted_.mapping_end = line_.end;
    wanted_.file_offset =
        reinterpret_cast<std::uint64_t>(&std::qsort) - line_.start + line_.file_offset;
    wanted_.pid = Pid();
  }
  // The service makes the vdso's tables by itself, first.
  static std::uint64_t Vdsos() { return ::getauxval(AT_SYSINFO_EHDR) != 0 ? 1 : 0; }
  static std::uint32_t Pid() { return static_cast<std::uint32_t>(::getpid()); }

  MapsLine line_;
  profd_wanted wanted_{};
  test::DirectReaders readers_{std::make_unique<CfiParser>()};
  VectorPoolMemory memory_;
  VectorFileMaps maps_;
};

TEST_F(Service, WhatIsWantedComes) {
  TableService service(memory_, maps_, readers_);
  EXPECT_NE(maps_.tick, 0u);
  service.Want(wanted_);
  ASSERT_TRUE(test::Eventually([&] {
    profd_unwind_file* file = maps_.Find(wanted_.key);
    return file != nullptr &&
           Lookup(memory_.base(), *file, wanted_.file_offset, 1).status == LookupStatus::kFound;
  }));
  EXPECT_EQ(service.counters().files_read.value(), Vdsos() + 1);
}

TEST_F(Service, AnotherKeyOfAFileThatIsThereCostsNothing) {
  TableService service(memory_, maps_, readers_);
  service.Prefetch({Pid(), line_.start, line_.end},
                   {line_.device_major, line_.device_minor, line_.inode, 0});
  profd_wanted other = wanted_;
  other.key.device += 7;
  other.key.generation += 9;
  ASSERT_TRUE(test::Eventually([&] { return service.counters().prefetched.value() == 1; }));
  service.Want(other);
  ASSERT_TRUE(test::Eventually([&] { return maps_.Find(other.key) != nullptr; }));
  EXPECT_EQ(maps_.Find(other.key), maps_.Find(wanted_.key));
  EXPECT_EQ(service.counters().files_read.value(), Vdsos() + 1);
}

TEST_F(Service, AnotherFileInItsPlaceIsRefused) {
  TableService service(memory_, maps_, readers_);
  wanted_.key.mtime_ns += 1;
  service.Want(wanted_);
  ASSERT_TRUE(test::Eventually([&] { return service.counters().changed.value() == 1; }));
  EXPECT_EQ(maps_.Find(wanted_.key), nullptr);
}

// Memory of this process with a function in it.
class MadeCode {
 public:
  static constexpr std::size_t kBytes = 4'096;

  explicit MadeCode(std::initializer_list<std::uint8_t> code)
      : memory_(
            static_cast<std::uint8_t*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    Write(code);
    wanted_.key.inode = reinterpret_cast<std::uint64_t>(memory_);
    wanted_.key.size = kBytes;
    wanted_.key.mtime_ns = 77;  // of the address space
    wanted_.key.device = PROFD_MEMORY_DEVICE;
    wanted_.mapping_begin = wanted_.key.inode;
    wanted_.mapping_end = wanted_.mapping_begin + kBytes;
    wanted_.pid = static_cast<std::uint32_t>(::getpid());
  }
  MadeCode(const MadeCode&) = delete;
  MadeCode& operator=(const MadeCode&) = delete;
  ~MadeCode() { Unmap(); }

  void Write(std::initializer_list<std::uint8_t> code) { std::ranges::copy(code, memory_); }
  void Unmap() { ::munmap(memory_, kBytes); }
  [[nodiscard]] const profd_wanted& wanted() const { return wanted_; }

 private:
  std::uint8_t* memory_;
  profd_wanted wanted_{};
};

class MemoryService : public Service {
 protected:
  // The CFA's distance from the stack pointer at an offset of the code; 0: no rule, or no tables.
  [[nodiscard]] std::int32_t DistanceAt(const MadeCode& code, std::uint64_t offset) {
    profd_unwind_file* file = maps_.Find(code.wanted().key);
    if (file == nullptr) return 0;
    const LookupAnswer answer = Lookup(memory_.base(), *file, offset, maps_.tick);
    return answer.status == LookupStatus::kFound ? answer.rule.offset : 0;
  }
};

TEST_F(MemoryService, CodeMadeAtRunTimeHasRules) {
  const MadeCode code({0x53, 0x90, 0x5b, 0xc3});  // push %rbx; nop; pop %rbx; ret
  TableService service(memory_, maps_, readers_);
  service.Want(code.wanted());
  ASSERT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 16; }));
  EXPECT_EQ(DistanceAt(code, 0), 8);
  EXPECT_EQ(DistanceAt(code, 3), 8);
  EXPECT_EQ(DistanceAt(code, 100), 0);
}

TEST_F(MemoryService, CodeThatHasChangedIsReadAgain) {
  MadeCode code({0x53, 0x90, 0x5b, 0xc3});
  TableService service(memory_, maps_, readers_);
  service.Want(code.wanted());
  ASSERT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 16; }));
  code.Write({0x31, 0xc0, 0x90, 0xc3});  // xor %eax,%eax; nop; ret
  // Programs that use it are what makes it compared.
  ASSERT_TRUE(test::Eventually([&] {
    (void)DistanceAt(code, 1);
    return service.counters().rewritten.value() == 1;
  }));
  service.Want(code.wanted());
  EXPECT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 8; }));
}

TEST_F(MemoryService, CodeThatIsGoneHasNoRulesAnyMore) {
  MadeCode code({0x53, 0x90, 0x5b, 0xc3});
  TableService service(memory_, maps_, readers_);
  service.Want(code.wanted());
  ASSERT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 16; }));
  code.Unmap();
  EXPECT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 0; }));
  EXPECT_EQ(service.counters().rewritten.value(), 1u);
}

TEST_F(MemoryService, WhatItsProgramRegistersGoesFirst) {
  MadeCode code({0x53, 0x90, 0x5b, 0xc3});
  TableService service(memory_, maps_, readers_);
  service.Want(code.wanted());
  ASSERT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 16; }));
  // It says something else, by which the rules can be distinguished; the code stays.
  test::RegisteredPlan plan;
  plan.code = code.wanted().mapping_begin;
  plan.code_bytes = 4;
  plan.frames = test::MakeFrames(4, "\x0e\x40");
  plan.relocated = {test::kFrameBegin};
  const std::string object = test::MakeRegistered(plan);
  test::DebuggerList debuggers;
  debuggers.Add(object);
  ASSERT_TRUE(test::Eventually([&] {
    (void)DistanceAt(code, 1);
    return service.counters().rewritten.value() == 1;
  }));
  service.Want(code.wanted());
  EXPECT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 0x40; }));
  EXPECT_EQ(service.counters().registered.value(), 4u);
  debuggers.RemoveFirst();
  ASSERT_TRUE(test::Eventually([&] {
    (void)DistanceAt(code, 1);
    return service.counters().rewritten.value() == 2;
  }));
  service.Want(code.wanted());
  EXPECT_TRUE(test::Eventually([&] { return DistanceAt(code, 1) == 16; }));
}

TEST_F(MemoryService, KeyThatIsNotThatOfTheMappingIsRefused) {
  const MadeCode code({0xc3});
  TableService service(memory_, maps_, readers_);
  profd_wanted other = code.wanted();
  other.key.size += 4'096;
  service.Want(other);
  service.Want(code.wanted());
  ASSERT_TRUE(test::Eventually([&] { return DistanceAt(code, 0) == 8; }));
  EXPECT_EQ(maps_.Find(other.key), nullptr);
}

TEST_F(Service, MappingsThatAreGoneAreCounted) {
  TableService service(memory_, maps_, readers_);
  wanted_.mapping_end += 4096;
  service.Want(wanted_);
  ASSERT_TRUE(test::Eventually([&] { return service.counters().gone.value() == 1; }));
  EXPECT_EQ(maps_.Find(wanted_.key), nullptr);
}

TEST_F(Service, Vdso) {
  if (Vdsos() == 0) GTEST_SKIP() << "this kernel maps no vdso";
  TableService service(memory_, maps_, readers_);
  profd_file_key vdso{};
  vdso.inode = PROFD_VDSO_INODE;
  ASSERT_TRUE(test::Eventually([&] { return service.store_counters().rows.value() > 0; }));
  EXPECT_NE(maps_.Find(vdso), nullptr);
}

TEST_F(Service, AwaitReturnsWhenAllOfASmallFileIsThere) {
  TableService service(memory_, maps_, readers_);
  service.Want(wanted_);
  ASSERT_TRUE(service.Await(1, kLongest));
  profd_unwind_file* file = maps_.Find(wanted_.key);
  ASSERT_NE(file, nullptr);
  for (std::uint32_t i = 0; i < file->chunks; ++i) {
    const std::uint64_t begin = (std::uint64_t{file->first_chunk} + i) << PROFD_CHUNK_SHIFT;
    EXPECT_NE(Lookup(memory_.base(), *file, begin, 1).status, LookupStatus::kNotLoaded) << i;
  }
}

TEST_F(Service, AwaitWaitsForRequestsThatHaveNotComeYet) {
  TableService service(memory_, maps_, readers_);
  EXPECT_FALSE(service.Await(1, std::chrono::milliseconds(1)));
  std::jthread late([&] { service.Want(wanted_); });
  EXPECT_TRUE(service.Await(1, kLongest));
  EXPECT_NE(maps_.Find(wanted_.key), nullptr);
}

TEST_F(Service, AwaitMissedReturnsWhenTheRequestedTablesAreThere) {
  TableService service(memory_, maps_, readers_);
  EXPECT_FALSE(service.AwaitMissed(1, std::chrono::milliseconds(1)));
  service.Prefetch(Pid());
  EXPECT_TRUE(service.AwaitMissed(0, std::chrono::milliseconds(0))) << "no request has come";
  std::jthread late([&] { service.Want(wanted_); });
  ASSERT_TRUE(service.AwaitMissed(1, kLongest));
  profd_unwind_file* file = maps_.Find(wanted_.key);
  ASSERT_NE(file, nullptr);
  EXPECT_NE(Lookup(memory_.base(), *file, wanted_.file_offset, 1).status, LookupStatus::kNotLoaded);
}

TEST_F(Service, AwaitHasWhatWasFetchedAhead) {
  TableService service(memory_, maps_, readers_);
  service.Prefetch(Pid());
  ASSERT_TRUE(service.Await(0, kLongest));
  EXPECT_NE(maps_.Find(wanted_.key), nullptr);
}

TEST_F(Service, AWholeProcessAheadOfTime) {
  TableService service(memory_, maps_, readers_);
  service.Prefetch(Pid());
  ASSERT_TRUE(test::Eventually([&] { return maps_.Find(wanted_.key) != nullptr; }));
  EXPECT_GT(service.counters().prefetched.value(), 0u);
}

// A file that was made a moment ago, mapped as a program maps its code.
class MappedFile {
 public:
  explicit MappedFile(const std::string& original) {
    std::filesystem::copy_file(original, path_);
    UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
    EXPECT_NE(memory_, MAP_FAILED);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { ::munmap(memory_, kBytes); }
  [[nodiscard]] FileMapping Mapping() const {
    const auto begin = reinterpret_cast<std::uint64_t>(memory_);
    return {static_cast<std::uint32_t>(::getpid()), begin, begin + kBytes};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t kBytes = 1u << 16;
  const test::TempFolder folder_;
  const std::string path_ = folder_.Path("mapped");
  void* memory_ = nullptr;
};

elf::ObjectId IdOf(const MappedFile& file, const Clock& clock) {
  const FileMapping mapping = file.Mapping();
  return {.path = file.path(),
          .pid = mapping.pid,
          .map_start = mapping.begin,
          .map_end = mapping.end,
          .mapped_ns = clock.MonotonicNs()};
}

TEST_F(Service, SymbolsOfNewFilesAreKept) {
  const SystemClock clock;
  elf::KeptSymbols kept(8u << 20, clock);
  // Of libc, whatever a sanitizer puts before it: its own library is too large.
  const MappedFile file(MappingOf(reinterpret_cast<const void*>(&::getpagesize)).path);
  const FileMapping mapping = file.Mapping();
  const elf::ObjectId id = IdOf(file, clock);
  TableService service(memory_, maps_, readers_, TableService::kDefaultCapBytes, &kept);
  service.Prefetch(mapping, {});
  ASSERT_TRUE(service.Await(0, kLongest));
  const auto contents = kept.Find(id);
  ASSERT_TRUE(contents);
  EXPECT_NE(contents->symbols.names().find("qsort"), std::string_view::npos);
}

TEST_F(Service, NewFilesOfAProcessThatHasBeenThereAreFetchedAhead) {
  const SystemClock clock;
  elf::KeptSymbols kept(8u << 20, clock);
  const MappedFile file(MappingOf(reinterpret_cast<const void*>(&::getpagesize)).path);
  const FileMapping mapping = file.Mapping();
  const elf::ObjectId id = IdOf(file, clock);
  const auto made = CfiClient(readers_).Open(mapping, {});
  ASSERT_TRUE(made) << made.error().message;
  TableService service(memory_, maps_, readers_, TableService::kDefaultCapBytes, &kept);
  service.PrefetchNew(Pid());
  ASSERT_TRUE(service.Await(0, kLongest));
  EXPECT_NE(maps_.Find(made->key), nullptr);
  EXPECT_TRUE(kept.Find(id));
}

TEST_F(Service, OldFilesOfAProcessThatHasBeenThereAreFetchedOnRequest) {
  constexpr std::uint64_t kDayNs = 86'400'000'000'000;
  test::ManualClock tomorrow;
  tomorrow.Set(kDayNs, SystemClock().RealtimeNs() + kDayNs);
  elf::KeptSymbols kept(8u << 20, tomorrow);
  TableService service(memory_, maps_, readers_, TableService::kDefaultCapBytes, &kept);
  service.PrefetchNew(Pid());
  ASSERT_TRUE(service.Await(0, kLongest));
  EXPECT_EQ(maps_.Find(wanted_.key), nullptr);
  service.Prefetch(Pid());
  ASSERT_TRUE(service.Await(0, kLongest));
  EXPECT_NE(maps_.Find(wanted_.key), nullptr);
}

// Counts the requests.
class CountingReaders : public reader::Readers {
 public:
  explicit CountingReaders(reader::Readers& inner) : inner_(inner) {}
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds patience) override {
    ++requests;
    return inner_.Ask(request, patience);
  }
  bool IsHeldBy(std::uint64_t) const override { return false; }
  std::atomic<int> requests = 0;

 private:
  reader::Readers& inner_;
};

TEST_F(Service, AFileThatManyProcessesMapIsFetchedAheadOnce) {
  CountingReaders readers(readers_);
  TableService service(memory_, maps_, readers);
  const auto prefetch = [&](std::uint64_t generation) {
    service.Prefetch({Pid(), line_.start, line_.end},
                     {line_.device_major, line_.device_minor, line_.inode, generation});
    EXPECT_TRUE(service.Await(0, kLongest));
  };
  prefetch(7);
  ASSERT_NE(maps_.Find(wanted_.key), nullptr);
  const int requests = readers.requests;
  for (int process = 0; process < 100; ++process) prefetch(7);
  EXPECT_EQ(readers.requests, requests);
  prefetch(8);
  EXPECT_GT(readers.requests, requests) << "another file under the same number";
}

// Readers of which one file gets no answer, for as long as that is wanted.
class HangingReaders : public reader::Readers {
 public:
  explicit HangingReaders(reader::Readers& inner) : inner_(inner) {}
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds patience) override {
    if (hangs && request.body.find(hanging) != std::string::npos) {
      ++requests;
      return Error{ErrorCode::kUnavailable, "does not answer", ""};
    }
    return inner_.Ask(request, patience);
  }
  bool IsHeldBy(std::uint64_t) const override { return false; }
  std::string hanging;  // a part of the requests
  std::atomic<bool> hangs = true;
  std::atomic<int> requests = 0;

 private:
  reader::Readers& inner_;
};

TEST_F(Service, AFileThatDoesNotAnswerHoldsUpNoOtherAndIsTriedAgain) {
  HangingReaders readers(readers_);
  readers.hanging.assign(reinterpret_cast<const char*>(&line_.start), sizeof line_.start);
  TableService service(memory_, maps_, readers);
  service.Want(wanted_);
  ASSERT_TRUE(service.AwaitMissed(1, kLongest))
      << "no thread waits for a file that does not answer";
  EXPECT_EQ(maps_.Find(wanted_.key), nullptr);
  EXPECT_EQ(service.counters().delayed.value(), 1u);

  const MapsLine own = MappingOf(reinterpret_cast<const void*>(&MappingOf));
  const auto file = CfiClient(readers_).Open({Pid(), own.start, own.end}, {});
  ASSERT_TRUE(file) << file.error().message;
  profd_wanted other = wanted_;
  other.key = file->key;
  other.mapping_begin = own.start;
  other.mapping_end = own.end;
  other.file_offset = own.file_offset;
  service.Want(other);
  ASSERT_TRUE(service.AwaitMissed(2, kLongest));
  EXPECT_NE(maps_.Find(other.key), nullptr);

  ASSERT_TRUE(test::Eventually([&] { return readers.requests >= 2; }));
  readers.hangs = false;
  ASSERT_TRUE(test::Eventually([&] { return maps_.Find(wanted_.key) != nullptr; }));
}

}  // namespace
}  // namespace profd::unwind
