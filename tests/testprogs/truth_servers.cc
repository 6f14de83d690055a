// Threads that get what they wait for through the kernel: pipes, sockets, memory of two processes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/truth.h"
#include "tests/testprogs/whom_truth.h"

namespace truth {

using profd::testprog::EndOf;
using profd::testprog::GiveAway;
using profd::testprog::HandOver;
using profd::testprog::Instant;
using profd::testprog::RawRead;
using profd::testprog::RawSharedFutexWait;
using profd::testprog::RawSharedFutexWake;
using profd::testprog::RawSleepUntil;
using profd::testprog::RawSyscall;
using profd::testprog::RawWrite;
using profd::testprog::RunDelay;
using profd::testprog::SleepExactly;
using profd::testprog::SpinUntil;
using profd::testprog::TimedSleep;
using profd::testprog::WhomTruth;

PROFD_NAMED bool AwaitAnswer(int fd) { return RawRead(fd); }
PROFD_NAMED bool AwaitRequest(int fd) { return RawRead(fd); }
PROFD_NAMED void ComputeAnswer(std::uint64_t until) { SpinUntil(until); }

namespace {

constexpr std::int64_t kMs = 1'000'000;

// What one side reads and what it writes.
struct Ends {
  int in = -1;
  int out = -1;
};

void Must(bool done) {
  if (!done) std::abort();
}

// The server computes 3 ms for each byte that comes.
void Serve(Case& run, Ends client, Ends server) {
  struct Request {
    std::int64_t begin_ns = 0;
    HandOver over;
  };
  std::vector<Request> requests(static_cast<std::size_t>(run.options.ns / (3 * kMs)) + 1);
  std::size_t count = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("server", [&](ThreadTruth& truth) {
    for (std::size_t n = 0; AwaitRequest(server.in); ++n) {
      truth.Phase("truth::ComputeAnswer", [&] { ComputeAnswer(run.counter.After(3 * kMs)); });
      GiveAway(requests[n].over, [&] { Must(RawWrite(server.out)); });
    }
  });
  run.report.Start("client", [&](ThreadTruth&) {
    const RunDelay delay;
    for (; count < requests.size() && MonotonicNs() < end_ns; ++count) {
      Must(RawWrite(client.out));
      requests[count].begin_ns = MonotonicNs();
      requests[count].over.taken_ns = EndOf(delay, [&] { Must(AwaitAnswer(client.in)); });
    }
    // Of a socket both ends are one.
    shutdown(client.out, SHUT_WR);
    if (client.out != client.in) close(client.out);
  });
  run.report.Join();
  WhomTruth whom("client", "truth::AwaitAnswer");
  for (std::size_t n = 0; n < count; ++n) {
    const Request& request = requests[n];
    whom.Wait(Instant::At(request.begin_ns), request.over.At());
    whom.Part("server runs", Instant::At(request.begin_ns), request.over.At());
  }
  run.report.AddWhom(whom.Json());
}

}  // namespace

void PipeServer(Case& run) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  Must(pipe(there.data()) == 0 && pipe(back.data()) == 0);
  Serve(run, {back[0], there[1]}, {there[0], back[1]});
}

void UnixServer(Case& run) {
  std::array<int, 2> ends{};
  Must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  Serve(run, {ends[0], ends[0]}, {ends[1], ends[1]});
}

void TcpServer(Case& run) {
  const int listens = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  Must(bind(listens, any, length) == 0 && listen(listens, 1) == 0 &&
       getsockname(listens, any, &length) == 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  Must(connect(client, any, length) == 0);
  const int server = accept(listens, nullptr, nullptr);
  const int at_once = 1;
  for (const int end : {client, server})
    Must(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once) == 0);
  Serve(run, {client, client}, {server, server});
}

namespace {

// A count in memory that processes share.
class SharedGate {
 public:
  PROFD_INLINE void Open() {
    count_.fetch_add(1);
    RawSharedFutexWake(count_, 1 << 30);
  }
  PROFD_INLINE void WaitBeyond(std::uint32_t passed) const {
    for (std::uint32_t now = count_.load(); now <= passed; now = count_.load())
      RawSharedFutexWait(count_, now);
  }
  [[nodiscard]] std::uint32_t Opened() const { return count_.load(); }

 private:
  std::atomic<std::uint32_t> count_{0};
};

// What the waiter and the threads of the other process share.
struct Shared {
  struct Cycle {
    std::int64_t begin_ns = 0;
    TimedSleep sleep;
    HandOver to_near;
    HandOver to_waiter;
  };
  static constexpr std::size_t kMaxCycles = 4000;

  SharedGate to_waiter;
  SharedGate to_near;
  SharedGate to_far;
  std::array<Cycle, kMaxCycles> cycles;
};

}  // namespace

PROFD_NAMED void AwaitOtherProcess(const SharedGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void AwaitFar(const SharedGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void AwaitWork(const SharedGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void ComputeNear(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SleepFar(std::int64_t until_ns) { RawSleepUntil(until_ns); }

namespace {

void* Map(const std::string& file, int flags) {
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  Must(fd >= 0 && ftruncate(fd, sizeof(Shared)) == 0);
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  Must(memory != MAP_FAILED);
  close(fd);
  return memory;
}

void BeFar(Shared& shared) {
  ::prctl(PR_SET_NAME, "other-far");
  const RunDelay delay;
  SleepExactly();
  for (std::uint32_t n = 0;; ++n) {
    AwaitWork(shared.to_far, n);
    shared.cycles[n].sleep.Take(2 * kMs, delay, [](std::int64_t until_ns) { SleepFar(until_ns); });
    GiveAway(shared.cycles[n].to_near, [&] { shared.to_near.Open(); });
  }
}

void BeNear(Shared& shared, const Case& run) {
  ::prctl(PR_SET_NAME, "other-near");
  const RunDelay delay;
  for (std::uint32_t n = 0;; ++n) {
    shared.cycles[n].to_near.taken_ns = EndOf(delay, [&] { AwaitFar(shared.to_near, n); });
    ComputeNear(run.counter.After(3 * kMs));
    GiveAway(shared.cycles[n].to_waiter, [&] { shared.to_waiter.Open(); });
  }
}

}  // namespace

// Two processes for OtherProcess, which is collected without them and may run again. They end with
// this one.
void Outside(Case& run) {
  Shared& shared = *new (Map(run.options.file, O_CREAT)) Shared;
  std::vector<pid_t> others;
  for (const bool far : {true, false}) {
    const pid_t pid = fork();
    Must(pid >= 0);
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (far)
        BeFar(shared);
      else
        BeNear(shared, run);
      _exit(0);
    }
    others.push_back(pid);
  }
  std::cout << others[0] << " " << others[1] << std::endl;
  for (const pid_t pid : others) Must(waitpid(pid, nullptr, 0) == pid);
}

void OtherProcess(Case& run) {
  Shared& shared = *static_cast<Shared*>(Map(run.options.file, 0));
  const std::uint32_t first = shared.to_waiter.Opened();
  std::uint32_t count = first;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("other-waiter", [&](ThreadTruth&) {
    const RunDelay delay;
    for (; count < Shared::kMaxCycles && MonotonicNs() < end_ns; ++count) {
      Shared::Cycle& cycle = shared.cycles[count];
      shared.to_far.Open();
      cycle.begin_ns = MonotonicNs();
      cycle.to_waiter.taken_ns = EndOf(delay, [&] { AwaitOtherProcess(shared.to_waiter, count); });
    }
  });
  run.report.Join();
  // The first waits of all three are needed before the session knows of all.
  constexpr std::uint32_t kKnown = 3;
  WhomTruth whom("other-waiter", "truth::AwaitOtherProcess");
  for (std::uint32_t n = first + kKnown; n < count; ++n) {
    const Shared::Cycle& cycle = shared.cycles[n];
    const Instant begin = Instant::At(cycle.begin_ns);
    whom.Wait(begin, cycle.to_waiter.At());
    whom.Part("other-near other-far runs", begin, cycle.sleep.From());
    whom.Part("other-near other-far timer", cycle.sleep.From(), cycle.sleep.End());
    whom.Part("other-near other-far runs", cycle.sleep.End(), cycle.to_near.At());
    whom.Part("other-near runs", cycle.to_near.At(), cycle.to_waiter.At());
  }
  nlohmann::json said = whom.Json();
  said["known_ns"] = shared.cycles[first + kKnown].begin_ns;
  run.report.AddWhom(std::move(said));
}

PROFD_NAMED void PollBoth(int poll_fd, epoll_event& event) {
  RawSyscall(SYS_epoll_pwait, poll_fd, reinterpret_cast<long>(&event), 1, -1, 0, 8);
}
PROFD_NAMED void SleepBeforeWrite(std::int64_t until_ns) { RawSleepUntil(until_ns); }

void Events(Case& run) {
  struct Writer {
    std::string name;
    std::int64_t every_ns;
    int fd;
    std::vector<std::pair<TimedSleep, HandOver>> writes;
  };
  std::array<Writer, 2> writers{Writer{"events-three", 3 * kMs, eventfd(0, 0), {}},
                                Writer{"events-eleven", 11 * kMs, eventfd(0, 0), {}}};
  struct Poll {
    std::int64_t begin_ns;
    std::int64_t taken_ns;
    std::uint32_t of;     // the writer
    std::uint64_t count;  // of its writes that were read then
  };
  std::vector<Poll> polls;
  const int poll_fd = epoll_create1(0);
  for (std::uint32_t i = 0; i < 2; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
    Must(epoll_ctl(poll_fd, EPOLL_CTL_ADD, writers[i].fd, &event) == 0);
  }
  std::atomic<bool> ends = false;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("events-poller", [&](ThreadTruth&) {
    const RunDelay delay;
    while (MonotonicNs() < end_ns) {
      epoll_event event{};
      Poll poll{.begin_ns = MonotonicNs(), .taken_ns = 0, .of = 0, .count = 0};
      poll.taken_ns = EndOf(delay, [&] { PollBoth(poll_fd, event); });
      poll.of = event.data.u32;
      Must(read(writers[poll.of].fd, &poll.count, sizeof poll.count) == sizeof poll.count);
      polls.push_back(poll);
    }
    ends = true;
  });
  for (Writer& writer : writers) {
    run.report.Start(writer.name, [&](ThreadTruth&) {
      const RunDelay delay;
      SleepExactly();
      while (!ends) {
        auto& [sleep, over] = writer.writes.emplace_back();
        sleep.Take(writer.every_ns, delay,
                   [](std::int64_t until_ns) { SleepBeforeWrite(until_ns); });
        const std::uint64_t one = 1;
        GiveAway(over, [&] { Must(write(writer.fd, &one, sizeof one) == sizeof one); });
      }
    });
  }
  run.report.Join();
  // Of the writes that are not read yet, the first one ends a wait. If two came at a time, or it
  // was under way when the wait began, that is not sure.
  WhomTruth whom("events-poller", "truth::PollBoth");
  std::array<std::size_t, 2> read{};
  for (const Poll& poll : polls) {
    std::array<const std::pair<TimedSleep, HandOver>*, 2> next{};
    for (std::size_t i = 0; i < 2; ++i)
      if (read[i] < writers[i].writes.size()) next[i] = &writers[i].writes[read[i]];
    read[poll.of] += poll.count;
    const bool three = next[1] == nullptr || (next[0] != nullptr && next[0]->second.before_ns <
                                                                        next[1]->second.before_ns);
    const auto* by = next[three ? 0 : 1];
    const auto* other = next[three ? 1 : 0];
    const Instant begin = Instant::At(poll.begin_ns);
    const Instant until{std::max(poll.begin_ns, by->second.before_ns),
                        std::max({poll.begin_ns, by->second.before_ns,
                                  std::min(by->second.after_ns, poll.taken_ns)})};
    const bool unsure = by->second.before_ns < poll.begin_ns ||
                        (other != nullptr && other->second.before_ns < until.late_ns);
    whom.Wait(begin, until);
    const std::string name = writers[three ? 0 : 1].name;
    if (unsure) {
      for (const Writer& writer : writers)
        for (const char* end : {" runs", " timer"})
          whom.Part(writer.name + end, {poll.begin_ns, until.early_ns},
                    {until.early_ns, until.late_ns});
      continue;
    }
    // It may have slept already, or still have had something to do.
    whom.Part(name + " runs", begin, by->first.From());
    whom.Part(name + " timer", by->first.From(), by->first.End());
    whom.Part(name + " runs", by->first.End(), until);
  }
  run.report.AddWhom(whom.Json());
}

}  // namespace truth
