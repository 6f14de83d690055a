// bench_report [SAMPLES]: how long the tables and trees of `profctl report` take, of a profile that
// is made: by default 1,000,000 samples of 64 threads, in 100,000 stacks that are up to 60 deep.
// Prints the best of five rounds of each. `bench_report --write FILE [SAMPLES]` only writes it, as
// json.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "client/format/json.h"
#include "client/profile/report/call_tree.h"
#include "client/profile/report/report_table.h"
#include "client/profile/report/sample_filter.h"

namespace {

using profd::client::ReportKey;
namespace v1 = profd::v1;

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kFunctions = 5'000;
constexpr std::uint32_t kNodes = 100'000;
constexpr std::uint32_t kDepth = 60;

v1::Profile Made(int samples) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random()) % bound;
  };
  v1::Profile profile;
  profile.set_end_ns(static_cast<std::uint64_t>(samples) * 10'000'000 / kThreads);
  profile.set_on_cpu(true);
  profile.set_off_cpu(true);
  v1::Process* process = profile.add_processes();
  process->set_pid(1);
  process->set_comm("made");
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    v1::Thread* thread = profile.add_threads();
    thread->set_tid(i + 1);
    thread->set_comm("thread-" + std::to_string(i));
  }
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    v1::Frame* frame = profile.add_frames();
    const bool python = i % 3 != 0;
    frame->set_kind(python ? v1::FRAME_PYTHON : v1::FRAME_NATIVE);
    frame->set_name("function_" + std::to_string(i));
    const std::string package = "package" + std::to_string(i % 97);
    if (python)
      frame->set_file("/usr/lib/python3/dist-packages/" + package + "/file.py");
    else
      frame->set_module("/usr/lib/lib" + package + ".so");
    frame->set_line(i % 1000);
  }
  std::vector<std::uint32_t> depths{0};
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    // Mostly below the last ones, so that stacks are deep.
    std::uint32_t parent = i == 0 ? 0 : i - below(std::min(i, 40u));
    if (depths[parent] >= kDepth) parent = 0;
    v1::StackNode* node = profile.add_nodes();
    node->set_parent(parent);
    node->set_frame(below(kFunctions));
    depths.push_back(depths[parent] + 1);
  }
  v1::Samples& to = *profile.mutable_samples();
  for (int i = 0; i < samples; ++i) {
    const std::uint32_t kind = below(10);
    to.add_time_ns(static_cast<std::uint64_t>(i) * 10'000'000 / kThreads);
    to.add_raw_weight_ns(10'000'000);
    to.add_weight_ns(10'000'000);
    to.add_thread(below(kThreads));
    to.add_node(1 + below(kNodes));
    to.add_state(kind < 5 ? v1::STATE_ON_CPU : kind < 6 ? v1::STATE_RUNNABLE : v1::STATE_BLOCKED);
    to.add_wait(kind < 6 ? v1::WAIT_NONE : static_cast<v1::WaitReason>(1 + below(11)));
    to.add_count(1);
    to.add_exact(false);
    to.add_stack_flags(0);
  }
  return profile;
}

void Measure(const std::string& what, const std::function<void()>& run) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  std::printf("%-28s %7.0f ms\n", what.c_str(), best);
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc > 2 && std::string_view(argv[1]) == "--write";
  const int at = write ? 3 : 1;
  const int samples = argc > at ? std::atoi(argv[at]) : 1'000'000;
  if (samples <= 0) {
    std::fprintf(stderr, "usage: bench_report [--write FILE] [SAMPLES]\n");
    return 2;
  }
  const v1::Profile profile = Made(samples);
  if (write) {
    std::ofstream file(argv[2], std::ios::binary);
    const auto written = profd::client::JsonExporter().write(profile, {}, file);
    return written.ok() && file.flush() ? 0 : 1;
  }
  const profd::client::TableOptions options;
  for (const ReportKey& key : profd::client::ReportKeys())
    Measure("--by " + std::string(key.name),
            [&] { static_cast<void>(profd::client::TableBy(key, profile, options)); });
  const auto keys = profd::client::ParseReportKeys("function,thread");
  const auto filter = profd::client::SampleFilter::Parse("function ~ '7$' and not state = blocked");
  if (!keys || !filter) return 1;
  Measure("--by function,thread", [&] {
    static_cast<void>(profd::client::CrossBy(*(*keys)[0], *(*keys)[1], profile, options));
  });
  Measure("--filter, with a copy", [&] { static_cast<void>(filter->Apply(profile)); });
  Measure("--callers",
          [&] { static_cast<void>(profd::client::CallersOf("function_7", profile, options)); });
  Measure("--tree", [&] {
    static_cast<void>(
        profd::client::ProgramTree(profile, profd::client::TreeOrder::kMerged, options));
  });
  return 0;
}
