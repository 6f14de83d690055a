#include "daemon/source/sessions/blocked_stacks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "daemon/source/bpf/control_word.h"
#include "daemon/source/bpf/iterator.h"

namespace profd::source {
namespace {

// A dump looks again at threads that ran or moved: up to this often, this long apart. In that time
// who keeps running is sampled.
constexpr int kDumpLooks = 4;
constexpr std::chrono::milliseconds kDumpPause{2};

// What has been requested is not requested again for so long (bpf/stack/tables.bpf.h).
constexpr std::chrono::milliseconds kWalkPause{10};

// Runs of the iterator in one walk: a user costs Unreadable::kMaxOfUser of them at most.
constexpr int kRuns = Unreadable::kMaxOfUser + 1;

// Stacks that lacked tables are walked again once in so many windows.
constexpr std::uint32_t kWindowsTillAll = 6;

std::uint64_t BitOf(std::uint32_t slot) { return std::uint64_t{1} << slot; }

// Of a SNAPSHOT: the walk ended where tables were missing.
bool LacksTables(const wire::EventBytes& snapshot) {
  profd_sample_event sample{};
  return wire::ReadSample(snapshot, &sample) &&
         (sample.stack_flags & PROFD_STACK_TABLES_NOT_READY) != 0;
}

bool IsRunning(const wire::EventBytes& snapshot) {
  profd_event header{};
  return wire::ReadHeader(snapshot, &header) && (header.flags & PROFD_SAMPLE_RUNNING) != 0;
}

using SnapshotOf = std::map<std::pair<std::uint32_t, std::uint64_t>, wire::EventBytes*>;

SnapshotOf ByThread(std::vector<wire::EventBytes>& snapshots) {
  SnapshotOf by_thread;
  for (wire::EventBytes& snapshot : snapshots) {
    profd_event header{};
    if (wire::ReadHeader(snapshot, &header))
      by_thread[{header.tid, header.thread_start_ns}] = &snapshot;
  }
  return by_thread;
}

// Puts the later stacks of threads into the places of those that lacked tables.
void TakeBetter(std::vector<wire::EventBytes> later, std::vector<wire::EventBytes>& stacks) {
  const SnapshotOf by_thread = ByThread(later);
  for (wire::EventBytes& stack : stacks) {
    profd_event header{};
    if (!LacksTables(stack) || !wire::ReadHeader(stack, &header)) continue;
    const auto found = by_thread.find({header.tid, header.thread_start_ns});
    if (found != by_thread.end()) stack = std::move(*found->second);
  }
}

// Takes later what was missing, and how those stand by now that ran.
void TakeMissing(std::vector<wire::EventBytes> later, std::vector<wire::EventBytes>& stacks) {
  const SnapshotOf by_thread = ByThread(stacks);
  std::vector<wire::EventBytes> added;
  for (wire::EventBytes& stack : later) {
    profd_event header{};
    if (!wire::ReadHeader(stack, &header)) continue;
    const auto found = by_thread.find({header.tid, header.thread_start_ns});
    if (found == by_thread.end())
      added.push_back(std::move(stack));
    else if (IsRunning(*found->second))
      *found->second = std::move(stack);
  }
  std::ranges::move(added, std::back_inserter(stacks));
}

}  // namespace

std::vector<wire::EventBytes> BlockedStacks::ReadBlocked(std::uint32_t slot, const Epoch& epoch,
                                                         std::uint64_t since_ns) {
  if (objects_.snapshot_link_fd() < 0) return {};
  profd_control& control = objects_.control();
  StoreControl(control.snapshot_before_ns, epoch.time_ns);
  StoreControl(control.snapshot_since_ns, since_ns);
  std::vector<wire::EventBytes> stacks = Walk(slot, kTimeout);
  if (await_) Complete(For::kSession, slot, stacks);
  return stacks;
}

std::vector<wire::EventBytes> BlockedStacks::ReadWindow(std::uint32_t slot, const Epoch& epoch,
                                                        Rolled& rolled) {
  const std::uint64_t timeouts = timeouts_;
  std::vector<wire::EventBytes> stacks = ReadBlocked(slot, epoch, rolled.reported_until_ns);
  if (rolled.reported_until_ns == 0) rolled.lacks_tables = false;
  rolled.lacks_tables = rolled.lacks_tables || std::ranges::any_of(stacks, LacksTables);
  if (timeouts_ != timeouts) return stacks;  // who was not reached is walked the next time
  rolled.reported_until_ns = epoch.time_ns;
  if (++rolled.windows < kWindowsTillAll || !rolled.lacks_tables) return stacks;
  rolled.reported_until_ns = 0;
  rolled.windows = 0;
  return stacks;
}

std::vector<wire::EventBytes> BlockedStacks::ReadDump(std::uint32_t slot, std::size_t members) {
  if (objects_.snapshot_link_fd() < 0) return {};
  profd_control& control = objects_.control();
  StoreControl(control.dump_sessions, BitOf(slot));
  std::vector<wire::EventBytes> threads = Walk(slot, kTimeout);
  for (int left = kDumpLooks - 1; left > 0; --left) {
    if (threads.size() >= members && std::ranges::none_of(threads, IsRunning)) break;
    std::this_thread::sleep_for(kDumpPause);
    TakeMissing(Walk(slot, kTimeout), threads);
  }
  if (await_) Complete(For::kDump, slot, threads);
  StoreControl(control.dump_sessions, 0);
  return threads;
}

std::vector<wire::EventBytes> BlockedStacks::Walk(std::uint32_t slot,
                                                  std::chrono::milliseconds timeout) {
  profd_control& control = objects_.control();
  StoreControl(control.snapshot_sessions, BitOf(slot));
  const std::scoped_lock walking(objects_.snapshot_mutex());
  Publish();
  auto read = ReadInTime(timeout);
  // Processes whose memory does not answer cost no others their stacks.
  for (int runs = 1; !read; ++runs) {
    ++timeouts_;
    if (!LeaveAlone(requests_) || runs == kRuns) break;
    read = ReadInTime(timeout);
  }
  if (!read) read = ReadKernelStacks();
  StoreControl(control.snapshot_sessions, 0);
  if (!read) return {};
  bool malformed = false;
  std::vector<wire::EventBytes> stacks = SplitEvents(std::as_bytes(std::span(*read)), &malformed);
  malformed_ += malformed ? 1 : 0;
  return stacks;
}

Result<std::string> BlockedStacks::ReadInTime(std::chrono::milliseconds timeout) {
  const auto iterator = OpenIterator(objects_.snapshot_link_fd());
  if (!iterator) return iterator.error();
  auto read = readers_.Ask({.body = {},
                            .name = "stacks of blocked threads",
                            .target = ++requests_,
                            .user = 0,
                            .descriptors = {iterator->get()}},
                           timeout);
  // Too many readers wait in the kernel.
  if (!read && read.error().code == ErrorCode::kExhausted) return ReadKernelStacks();
  return read;
}

Result<std::string> BlockedStacks::ReadKernelStacks() {
  profd_control& control = objects_.control();
  const __u32 before = std::atomic_ref(control.reads).exchange(PROFD_READS_NONE);
  const auto bytes = ReadIterator(objects_.snapshot_link_fd());
  std::atomic_ref(control.reads).store(before);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

bool BlockedStacks::LeaveAlone(std::uint64_t request) {
  const std::uint32_t pid = std::atomic_ref(objects_.control().reads_pid).load();
  if (pid == 0) return false;
  NoteUnreadable(readers_, pid, request);
  return true;
}

void BlockedStacks::NoteHang(std::uint32_t pid, std::uint64_t request) {
  ++timeouts_;
  NoteUnreadable(observers_, pid, request);
}

void BlockedStacks::NoteUnreadable(reader::Readers& readers, std::uint32_t pid,
                                   std::uint64_t request) {
  const std::uint32_t user = reader::UserOf(pid);
  readers.Blame(request, user);
  unreadable_.Note(pid, user, request, std::chrono::steady_clock::now());
  Publish();
}

void BlockedStacks::Publish() {
  profd_control& control = objects_.control();
  const auto orders =
      unreadable_.Next(std::chrono::steady_clock::now(), [this](std::uint64_t request) {
        return readers_.IsHeldBy(request) || observers_.IsHeldBy(request);
      });
  // The programs stop at the first 0.
  for (std::size_t i = 0; i < PROFD_MAX_UNREADABLE; ++i)
    std::atomic_ref(control.unreadable_pids[i]).store(i < orders.pids.size() ? orders.pids[i] : 0);
  for (std::size_t i = 0; i < PROFD_MAX_UNREADABLE_USERS; ++i)
    std::atomic_ref(control.unreadable_users[i])
        .store(i < orders.users.size() ? orders.users[i] : 0);
  std::atomic_ref(control.reads).store(static_cast<__u32>(orders.reads));
}

void BlockedStacks::Complete(For whom, std::uint32_t slot, std::vector<wire::EventBytes>& stacks) {
  // Each walk asks for what it misses, and may find the next thing missing further up.
  const auto deadline = std::chrono::steady_clock::now() + kTablesAtEnd;
  std::uint64_t requests = 0;
  while (std::ranges::any_of(stacks, LacksTables)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const std::uint64_t wanted = counters_()[PROFD_COUNTER_TABLES_WANTED];
    if (left.count() <= 0) return;
    if (wanted == requests) std::this_thread::sleep_for(kWalkPause);  // requested a moment ago
    requests = wanted;
    (void)await_(whom, wanted, left);
    // With its whole time: a walk that is cut short blames a process that would have answered.
    TakeBetter(Walk(slot, kTimeout), stacks);
  }
}

}  // namespace profd::source
