// How a thread's labels are found in memory made for the test: in static and in dynamic
// thread-local storage, of glibc and of musl.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kThread = 0x7f00'0000'1000;  // the thread pointer
constexpr std::uint64_t kBlocks = 0x5000'0000;       // the vector of blocks
constexpr std::uint64_t kBlock = 0x6000'0000;
constexpr std::uint64_t kRecord = 0x7000'0000;
constexpr std::uint32_t kPid = 1234;
constexpr std::uint64_t kStart = 99;

std::string Record(const std::string& attributes, std::uint8_t valid = 1) {
  profd_label_head head{};
  head.trace_id[0] = 7;
  head.valid = valid;
  head.attribute_bytes = static_cast<__u16>(attributes.size());
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + attributes;
}

// Both readers of user memory.
class LabelsTest : public testing::TestWithParam<bool> {
 protected:
  LabelsTest() {
    user_reset();
    user_control()->label_processes = 1;
    user_control()->requested_sessions = 1;
    user_set_memory(
        [](void* self, void* to, __u32 bytes, __u64 from) {
          return static_cast<LabelsTest*>(self)->Read(to, bytes, from);
        },
        this);
  }

  long Read(void* to, __u32 bytes, __u64 from) {
    ++reads_;
    for (__u32 i = 0; i < bytes; ++i) {
      const auto byte = memory_.find(from + i);
      if (byte == memory_.end()) return -14;
      static_cast<char*>(to)[i] = byte->second;
    }
    return 0;
  }
  void Put(std::uint64_t address, const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) memory_[address + i] = bytes[i];
  }
  void Put(std::uint64_t address, std::uint64_t word) {
    Put(address, std::string(reinterpret_cast<const char*>(&word), sizeof word));
  }

  std::string Labels(const profd_label_process& process, std::uint64_t sessions = 1) {
    user_set_labels(kPid, &process);
    profd_sample_event event{};
    event.event.pid = kPid;
    event.event.process_start_ns = kStart;
    event.event.sessions = sessions;
    std::string record(PROFD_MAX_LABEL_BYTES, '\0');
    user_read_labels(&event, kThread, GetParam() ? 1 : 0, record.data());
    return record.substr(0, event.label_bytes);
  }

  static profd_label_process Static(std::int64_t offset) { return {kStart, offset, 0, 16}; }

  std::map<std::uint64_t, char> memory_;
  int reads_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Readers, LabelsTest, testing::Bool());

TEST_P(LabelsTest, InStaticStorageBelowTheThreadPointer) {
  Put(kThread - 64, kRecord);
  for (const std::string& attributes : {std::string(), std::string("\0\2ab", 4)}) {
    Put(kRecord, Record(attributes));
    EXPECT_EQ(Labels(Static(-64)), Record(attributes));
  }
}

TEST_P(LabelsTest, InABlockOfGlibc) {
  Put(kThread + 8, kBlocks);
  Put(kBlocks - 16, std::uint64_t{2});  // entries
  Put(kBlocks + 2 * 16, kBlock);
  Put(kBlock + 24, kRecord);
  Put(kRecord, Record("xyz"));
  EXPECT_EQ(Labels({kStart, 24, 2, 16}), Record("xyz"));
  EXPECT_EQ(Labels({kStart, 24, 3, 16}), "") << "the vector is shorter";
  Put(kBlocks + 2 * 16, ~std::uint64_t{0});
  EXPECT_EQ(Labels({kStart, 24, 2, 16}), "") << "the thread has not used it";
}

TEST_P(LabelsTest, InABlockOfMusl) {
  Put(kThread + 8, kBlocks);
  Put(kBlocks, std::uint64_t{2});  // entries
  Put(kBlocks + 2 * 8, kBlock);
  Put(kBlock + 24, kRecord);
  Put(kRecord, Record("xyz"));
  EXPECT_EQ(Labels({kStart, 24, 2, 8}), Record("xyz"));
  EXPECT_EQ(Labels({kStart, 24, 3, 8}), "");
}

TEST_P(LabelsTest, NoRecordAndOneThatIsNotValid) {
  Put(kThread - 64, std::uint64_t{0});
  EXPECT_EQ(Labels(Static(-64)), "");
  Put(kThread - 64, kRecord);
  for (const std::uint8_t valid : std::initializer_list<std::uint8_t>{0, 2, 255}) {
    Put(kRecord, Record("ab", valid));
    EXPECT_EQ(Labels(Static(-64)), "");
  }
  EXPECT_EQ(user_counter(PROFD_COUNTER_LABELS_UNREADABLE), 0u);
}

TEST_P(LabelsTest, TheBeginOfARecordThatIsTooLong) {
  Put(kThread - 64, kRecord);
  const std::string record = Record(std::string(2'000, 'x'));
  Put(kRecord, record);
  EXPECT_EQ(Labels(Static(-64)), record.substr(0, PROFD_MAX_LABEL_BYTES));
}

TEST_P(LabelsTest, MemoryThatIsNotThereIsCounted) {
  const std::uint64_t before = user_counter(PROFD_COUNTER_LABELS_UNREADABLE);
  Put(kThread - 64, kRecord);
  EXPECT_EQ(Labels(Static(-64)), "");
  Put(kRecord, Record(std::string(8, 'x')).substr(0, 30));
  EXPECT_EQ(Labels(Static(-64)), "");
  EXPECT_EQ(user_counter(PROFD_COUNTER_LABELS_UNREADABLE), before + 2);
}

TEST_P(LabelsTest, OnlyOfThatProcessAndForClients) {
  Put(kThread - 64, kRecord);
  Put(kRecord, Record("ab"));
  profd_label_process other = Static(-64);
  other.process_start_ns = kStart + 1;
  EXPECT_EQ(Labels(other), "") << "the pid belongs to another process by now";
  EXPECT_EQ(Labels(Static(-64), 2), "") << "only background sessions have the thread";
  user_control()->label_processes = 0;
  EXPECT_EQ(Labels(Static(-64)), "");
  EXPECT_EQ(reads_, 0);
}

}  // namespace
}  // namespace profd
