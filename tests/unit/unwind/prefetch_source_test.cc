#include "daemon/unwind/service/prefetch_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/elf/sources/kept_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"
#include "tests/support/vector_source.h"
#include "tests/unit/unwind/vector_maps.h"

namespace profd::unwind {
namespace {

constexpr std::chrono::minutes kLongest{5};

class PrefetchTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto maps = ProcFs().Read("self/maps");
    ParseMaps(*maps, [&](MapsLine&& line) {
      const auto at = reinterpret_cast<std::uint64_t>(&std::qsort);
      if (at >= line.start && at < line.end) libc_ = std::move(line);
    });
    const auto file = CfiClient(readers_).Open({Pid(), libc_.start, libc_.end}, {});
    ASSERT_TRUE(file) << file.error().message;
    key_ = file->key;
  }
  static std::uint32_t Pid() { return static_cast<std::uint32_t>(::getpid()); }

  [[nodiscard]] profd_mmap_event Mapping() const {
    profd_mmap_event mapping{};
    mapping.event = test::RawHeader(1, Pid(), Pid());
    mapping.address = libc_.start;
    mapping.bytes = libc_.end - libc_.start;
    mapping.inode = libc_.inode;
    mapping.prot = PROT_READ | PROT_EXEC;
    return mapping;
  }
  // Whether libc's tables are there once these events have passed; all must come out as they were.
  bool HasTablesAfter(std::vector<test::EventBytes> events) {
    constexpr std::uint64_t kDayNs = 86'400'000'000'000;
    test::ManualClock tomorrow;  // no file is new
    tomorrow.Set(kDayNs, SystemClock().RealtimeNs() + kDayNs);
    elf::KeptSymbols kept(1u << 20, tomorrow);
    VectorPoolMemory memory;
    VectorFileMaps maps;
    TableService tables(memory, maps, readers_, TableService::kDefaultCapBytes, &kept);
    test::VectorSource inner(events);
    PrefetchSource source(inner, tables);
    std::vector<test::EventBytes> passed;
    const auto polled = source.Poll(std::chrono::milliseconds(0), [&](const wire::RawEvent& event) {
      passed.emplace_back(event.bytes.begin(), event.bytes.end());
    });
    EXPECT_TRUE(polled.ok());
    EXPECT_EQ(passed, events);
    EXPECT_TRUE(tables.Await(0, kLongest));
    return maps.Find(key_) != nullptr;
  }

  MapsLine libc_;
  profd_file_key key_{};
  test::DirectReaders readers_{std::make_unique<CfiParser>()};
};

TEST_F(PrefetchTest, AnExecutableMapping) {
  EXPECT_TRUE(HasTablesAfter({test::RawEventBytes(PROFD_EVENT_MMAP, Mapping())}));
}

TEST_F(PrefetchTest, AllMappingsOfAProgramThatBegins) {
  profd_task_event exec{};
  exec.event = test::RawHeader(1, Pid(), Pid());
  EXPECT_TRUE(HasTablesAfter({test::RawEventBytes(PROFD_EVENT_EXEC, exec)}));
}

TEST_F(PrefetchTest, NotTheOldFilesOfAProcessThatHasBeenThere) {
  profd_process_event process{};
  process.event = test::RawHeader(1, Pid(), Pid());
  EXPECT_FALSE(HasTablesAfter({test::RawEventBytes(PROFD_EVENT_PROCESS, process)}));
}

TEST_F(PrefetchTest, NotWhatCannotRunOrHasNoFile) {
  auto data = Mapping();
  data.prot = PROT_READ;
  auto anonymous = Mapping();
  anonymous.inode = 0;
  EXPECT_FALSE(HasTablesAfter({test::RawEventBytes(PROFD_EVENT_MMAP, data),
                               test::RawEventBytes(PROFD_EVENT_MMAP, anonymous)}));
}

TEST_F(PrefetchTest, EventsCutShortPassToo) {
  auto cut = test::RawEventBytes(PROFD_EVENT_MMAP, Mapping());
  cut.resize(sizeof(profd_event));
  EXPECT_FALSE(HasTablesAfter({cut, test::EventBytes(7)}));
}

}  // namespace
}  // namespace profd::unwind
