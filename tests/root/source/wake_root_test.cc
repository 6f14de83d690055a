#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/bpf/ring_reader.h"
#include "daemon/source/probe/features.h"
#include "daemon/source/probe/hook_levels.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {
namespace {

constexpr int kForEver = -1;  // a reader that is not woken is the test's own timeout

bool IsWoken(const RingReader& rings, int milliseconds) {
  std::vector<pollfd> ready;
  for (const int fd : rings.wait_fds()) ready.push_back({fd, POLLIN, 0});
  return ::poll(ready.data(), ready.size(), milliseconds) > 0;
}

// A child that runs a program, or none; over when this returns.
void RunChild(bool program) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (program) ::execl("/bin/sleep", "sleep", "0", nullptr);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

// The programs by themselves, with this process and its children as members of session 0.
class WakeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto features = ProbeFeatures();
    ASSERT_TRUE(features);
    const HookLevels hooks = MakeHookLevels(features->sched_exit_tp, {}, {});
    auto objects = BpfObjects::Load(hooks.levels.front(), *features);
    ASSERT_TRUE(objects) << objects.error().message;
    objects_ = *std::move(objects);
    const profd_filter filter{.kind = PROFD_TARGET_PID,
                              .flags = PROFD_TARGET_CHILDREN,
                              .pidns_inum = 0,
                              .uid = 0,
                              .cgroup_id = 0,
                              .comm = {}};
    const profd_filter_id id{0, static_cast<std::uint32_t>(::getpid())};
    const std::uint32_t slot = 0;
    const std::uint8_t one = 1;
    ASSERT_EQ(::bpf_map_update_elem(objects_->filters_fd(), &slot, &filter, BPF_ANY), 0);
    ASSERT_EQ(::bpf_map_update_elem(objects_->filter_ids_fd(), &id, &one, BPF_ANY), 0);
    objects_->control().starting_sessions = 1;
    objects_->control().sessions = 1;
    ASSERT_TRUE(ReadIterator(objects_->assign_link_fd()));
    objects_->control().starting_sessions = 0;
  }

  std::unique_ptr<BpfObjects> objects_;
};

TEST_F(WakeTest, AProgramThatBeginsWakesTheReader) {
  auto rings = RingReader::Open(objects_->rings());
  ASSERT_TRUE(rings) << rings.error().message;
  RunChild(false);
  EXPECT_FALSE(IsWoken(*rings, 0)) << "forks and exits wait for the next round";
  RunChild(true);
  EXPECT_TRUE(IsWoken(*rings, kForEver));
  int execs = 0;
  rings->Drain([&](const wire::RawEvent& event) {
    profd_event header{};
    if (wire::ReadHeader(event.bytes, &header) && header.kind == PROFD_EVENT_EXEC) ++execs;
  });
  EXPECT_EQ(execs, 1);
}

}  // namespace
}  // namespace profd::source
