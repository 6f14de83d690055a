// phases: computes, sleeps, waits for a lock, reads a pipe and fsyncs, in functions with these
// names, and says at the end how long each took.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/spin.h"
#include "tests/testprogs/thread_truth.h"

namespace phases {

using profd::testprog::FutexGate;
using profd::testprog::FutexLock;
using profd::testprog::MonotonicNs;
using profd::testprog::ThreadTruth;

struct Options {
  double seconds = 10;
  double compute_ms = 40;
  double sleep_ms = 20;
  double lock_ms = 15;
  double pipe_ms = 15;
  int fsyncs = 2;
  std::string file = "/var/tmp/profd-phases.tmp";
};

std::int64_t Nanoseconds(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

// What the threads share. The worker asks by the gates and the request pipe; the others answer.
struct Shared {
  Options options;
  profd::testprog::Counter counter;
  FutexLock lock;
  FutexGate lock_wanted;
  FutexGate lock_held;
  std::array<int, 2> request{};
  std::array<int, 2> reply{};
  int file = -1;
  std::atomic<bool> done{false};
};

PROFD_NAMED void Compute(const Shared& shared) {
  profd::testprog::SpinUntil(shared.counter.After(Nanoseconds(shared.options.compute_ms)));
}

PROFD_NAMED void Sleep(const Shared& shared) {
  profd::testprog::RawSleep(Nanoseconds(shared.options.sleep_ms));
}

PROFD_NAMED void WaitForLock(Shared& shared) {
  shared.lock.Lock();
  shared.lock.Unlock();
}

PROFD_NAMED void ReadPipe(const Shared& shared) { profd::testprog::RawRead(shared.reply[0]); }

PROFD_NAMED void WriteAndSync(const Shared& shared) {
  static const std::array<char, 4096> kBlock{};
  profd::testprog::RawSyscall(SYS_pwrite64, shared.file, reinterpret_cast<long>(kBlock.data()),
                              kBlock.size());
  profd::testprog::RawSyscall(SYS_fsync, shared.file);
}

PROFD_NAMED void HoldLock(Shared& shared) {
  shared.lock.Lock();
  shared.lock_held.Open();
  profd::testprog::RawSleep(Nanoseconds(shared.options.lock_ms));
  shared.lock.Unlock();
}

PROFD_NAMED void WaitForRequest(const Shared& shared) {
  profd::testprog::RawRead(shared.request[0]);
}

PROFD_NAMED void PrepareReply(const Shared& shared) {
  profd::testprog::RawSleep(Nanoseconds(shared.options.pipe_ms));
}

PROFD_NAMED void WaitForOrder(const Shared& shared, std::uint32_t round) {
  shared.lock_wanted.WaitBeyond(round);
}

void Work(Shared& shared, ThreadTruth& truth) {
  const std::int64_t end_ns = MonotonicNs() + Nanoseconds(shared.options.seconds * 1e3);
  for (std::uint32_t round = 0; MonotonicNs() < end_ns; ++round) {
    truth.Phase("phases::Compute", [&] { Compute(shared); });
    truth.Phase("phases::Sleep", [&] { Sleep(shared); });
    shared.lock_wanted.Open();
    shared.lock_held.WaitBeyond(round);
    truth.Phase("phases::WaitForLock", [&] { WaitForLock(shared); });
    profd::testprog::RawWrite(shared.request[1]);
    truth.Phase("phases::ReadPipe", [&] { ReadPipe(shared); });
    for (int i = 0; i < shared.options.fsyncs; ++i) {
      truth.Phase("phases::WriteAndSync", [&] { WriteAndSync(shared); });
    }
  }
  shared.done = true;
  shared.lock_wanted.Open();
  profd::testprog::RawWrite(shared.request[1]);
}

void HoldLocks(Shared& shared, ThreadTruth& truth) {
  for (std::uint32_t round = 0;; ++round) {
    truth.Phase("phases::WaitForOrder", [&] { WaitForOrder(shared, round); });
    if (shared.done) return;
    truth.Phase("phases::HoldLock", [&] { HoldLock(shared); });
  }
}

void Reply(Shared& shared, ThreadTruth& truth) {
  while (true) {
    truth.Phase("phases::WaitForRequest", [&] { WaitForRequest(shared); });
    if (shared.done) return;
    truth.Phase("phases::PrepareReply", [&] { PrepareReply(shared); });
    profd::testprog::RawWrite(shared.reply[1]);
  }
}

int Run(const Options& options) {
  Shared shared;
  shared.options = options;
  shared.file = open(options.file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (shared.file < 0 || pipe(shared.request.data()) != 0 || pipe(shared.reply.data()) != 0) {
    std::cerr << "phases: cannot open " << options.file << " or a pipe\n";
    return 1;
  }
  unlink(options.file.c_str());
  profd::testprog::Report report("phases");
  report.Start("worker", [&](ThreadTruth& truth) { Work(shared, truth); });
  report.Start("lock-holder", [&](ThreadTruth& truth) { HoldLocks(shared, truth); });
  report.Start("replier", [&](ThreadTruth& truth) { Reply(shared, truth); });
  report.Join();
  report.Print();
  return 0;
}

}  // namespace phases

int main(int argc, char** argv) {
  phases::Options options;
  CLI::App app{"Known phases in named functions; prints how long each took as JSON"};
  app.add_option("--seconds", options.seconds, "how long to run")->capture_default_str();
  app.add_option("--compute", options.compute_ms, "ms of computing a round")->capture_default_str();
  app.add_option("--sleep", options.sleep_ms, "ms of sleep a round")->capture_default_str();
  app.add_option("--lock", options.lock_ms, "ms of waiting for a lock a round")
      ->capture_default_str();
  app.add_option("--pipe", options.pipe_ms, "ms of reading a pipe a round")->capture_default_str();
  app.add_option("--fsyncs", options.fsyncs, "fsyncs a round")->capture_default_str();
  app.add_option("--file", options.file, "file to sync")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return phases::Run(options);
}
