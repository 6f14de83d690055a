#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/files.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

// Every field another value, so that one that is swapped or forgotten shows.
aggregate::Profile MakeProfile() {
  aggregate::Profile profile;
  profile.target = "pid 100";
  profile.start_ns = 1;
  profile.end_ns = 2;
  profile.start_unix_ns = 3;
  profile.on_cpu = false;
  profile.on_cpu_period_ns = 4;
  profile.off_cpu_period_ns = 5;
  profile.host = "host";
  profile.kernel = "6.18";
  profile.hook = "sched_exit_tp";
  profile.profd_version = "0.1.0";
  profile.cpus = 112;
  profile.no_hardware_counters = true;
  aggregate::ProfileProcess process;
  process.key = {100, 6};
  process.shown_pid = 7;
  process.comm = "comm";
  process.command_line = "comm --flag";
  process.cgroup = "/slice";
  process.exited = true;
  process.executable = "/bin/x";
  process.concurrency = aggregate::Concurrency{.levels = {{2, 70, 71}}, .unknown_points = 72};
  process.cpu_limits = source::CpuLimits{.allowed_cpus = 73,
                                         .quota_cpus = 1.5,
                                         .quota_periods = 74,
                                         .throttled_periods = 75,
                                         .throttled_ns = 76};
  profile.processes.push_back(process);
  aggregate::ProfileThread thread;
  thread.key = {101, 8};
  thread.shown_tid = 9;
  thread.comm = "worker";
  thread.begin_ns = 10;
  thread.end_ns = 130;
  std::array<std::uint64_t, sizeof(profd_clock) / 8> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = i + 11;
  thread.clock = std::bit_cast<profd_clock>(fields);
  std::ranges::fill(thread.clock.stolen_ns, 0);
  thread.began = true;
  thread.cpus = {0, 56};
  profile.threads.push_back(thread);
  symbolize::Frame frame;
  frame.kind = symbolize::FrameKind::kJit;
  frame.inlined = true;
  frame.name = "f";
  frame.full_name = "f(int)";
  frame.module = "/bin/x";
  frame.offset = 30;
  frame.file = "x.cc";
  frame.line = 31;
  frame.reason = "none";
  frame.origin = std::make_shared<symbolize::ModuleInfo>(
      symbolize::ModuleInfo{"/bin/x", "ab12", ".symtab", "s.debug", "why", "d.debug", "why not"});
  profile.frames.push_back(frame);
  profile.nodes = {{0, 0}, {0, 0}, {1, 0}};
  aggregate::ProfileSample sample;
  sample.time_ns = 40;
  sample.raw_weight_ns = 41;
  sample.weight_ns = 42;
  sample.node = 2;
  sample.state = process::State::kBlocked;
  sample.wait = process::WaitReason::kPipe;
  sample.count = 43;
  sample.exact = true;
  sample.stack_flags = 5;
  profile.samples.push_back(sample);
  profile.lost = {{"l", "lost", 50}};
  profile.dropped = {{"d", "dropped", 51}};
  profile.counters = {{"n", "note", 52}};
  profile.cost = {60, 61};
  return profile;
}

TEST(ProfileToProto, CarriesEverything) {
  v1::Profile proto;
  ASSERT_TRUE(proto.ParseFromString(server::ToProto(MakeProfile()).SerializeAsString()));
  EXPECT_EQ(proto.target(), "pid 100");
  EXPECT_EQ(proto.start_ns(), 1u);
  EXPECT_EQ(proto.end_ns(), 2u);
  EXPECT_EQ(proto.start_unix_ns(), 3u);
  EXPECT_FALSE(proto.on_cpu());
  EXPECT_TRUE(proto.off_cpu());
  EXPECT_EQ(proto.on_cpu_period_ns(), 4u);
  EXPECT_EQ(proto.off_cpu_period_ns(), 5u);
  EXPECT_EQ(proto.host(), "host");
  EXPECT_EQ(proto.kernel(), "6.18");
  EXPECT_EQ(proto.hook(), "sched_exit_tp");
  EXPECT_EQ(proto.profd_version(), "0.1.0");
  EXPECT_EQ(proto.cpus(), 112u);
  EXPECT_TRUE(proto.no_hardware_counters());
  ASSERT_EQ(proto.processes_size(), 1);
  EXPECT_EQ(proto.processes(0).pid(), 7u);
  EXPECT_EQ(proto.processes(0).start_ns(), 6u);
  EXPECT_EQ(proto.processes(0).comm(), "comm");
  EXPECT_EQ(proto.processes(0).command_line(), "comm --flag");
  EXPECT_EQ(proto.processes(0).cgroup(), "/slice");
  EXPECT_TRUE(proto.processes(0).exited());
  ASSERT_EQ(proto.processes(0).concurrency().levels_size(), 1);
  EXPECT_EQ(proto.processes(0).concurrency().levels(0).threads(), 2u);
  EXPECT_EQ(proto.processes(0).concurrency().levels(0).running(), 70u);
  EXPECT_EQ(proto.processes(0).concurrency().levels(0).wanting(), 71u);
  EXPECT_EQ(proto.processes(0).concurrency().unknown_points(), 72u);
  EXPECT_EQ(proto.processes(0).cpu_limits().allowed_cpus(), 73u);
  EXPECT_EQ(proto.processes(0).cpu_limits().quota_cpus(), 1.5);
  EXPECT_EQ(proto.processes(0).cpu_limits().quota_periods(), 74u);
  EXPECT_EQ(proto.processes(0).cpu_limits().throttled_periods(), 75u);
  EXPECT_EQ(proto.processes(0).cpu_limits().throttled_ns(), 76u);
  ASSERT_EQ(proto.frames_size(), 1);
  EXPECT_EQ(proto.frames(0).kind(), v1::FRAME_JIT);
  EXPECT_TRUE(proto.frames(0).inlined());
  EXPECT_EQ(proto.frames(0).name(), "f");
  EXPECT_EQ(proto.frames(0).full_name(), "f(int)");
  EXPECT_EQ(proto.frames(0).module(), "/bin/x");
  EXPECT_EQ(proto.frames(0).offset(), 30u);
  EXPECT_EQ(proto.frames(0).file(), "x.cc");
  EXPECT_EQ(proto.frames(0).line(), 31u);
  EXPECT_EQ(proto.frames(0).reason(), "none");
  EXPECT_EQ(proto.frames(0).module_info(), 1u);
  EXPECT_EQ(proto.processes(0).executable(), "/bin/x");
  ASSERT_EQ(proto.modules_size(), 1);
  EXPECT_EQ(proto.modules(0).path(), "/bin/x");
  EXPECT_EQ(proto.modules(0).build_id(), "ab12");
  EXPECT_EQ(proto.modules(0).symbols_from(), ".symtab");
  EXPECT_EQ(proto.modules(0).symbols_file(), "s.debug");
  EXPECT_EQ(proto.modules(0).symbols_missing(), "why");
  EXPECT_EQ(proto.modules(0).debug_file(), "d.debug");
  EXPECT_EQ(proto.modules(0).debug_missing(), "why not");
  ASSERT_EQ(proto.nodes_size(), 2);  // without the root
  EXPECT_EQ(proto.nodes(1).parent(), 1u);
  EXPECT_EQ(proto.lost(0).count(), 50u);
  EXPECT_EQ(proto.dropped(0).text(), "dropped");
  EXPECT_EQ(proto.counters(0).name(), "n");
  EXPECT_EQ(proto.daemon_cpu_ns(), 60u);
  EXPECT_EQ(proto.bpf_ns(), 61u);
}

TEST(ConvertProfileTest, HardwareCountersStandWhereASessionRequestedThem) {
  aggregate::Profile profile = MakeProfile();
  EXPECT_FALSE(ToProto(profile, nullptr).has_hardware_counters());
  profile.counters_open = {.requested = true, .counted = 0, .refused = false};
  const v1::Profile none = ToProto(profile, nullptr);
  EXPECT_EQ(none.hardware_counters().missing(),
            "no hardware counters: this host has no PMU (usual in virtual machines)");
  profile.counters_open.refused = true;
  EXPECT_NE(ToProto(profile, nullptr).hardware_counters().missing().find("CAP_PERFMON"),
            std::string::npos);
  profile.counters_open = {.requested = true,
                           .counted = 1u << PROFD_PMU_CYCLES | 1u << PROFD_PMU_CACHE_MISSES};
  profile.threads[0].counts = aggregate::HardwareCounts{.counted_ns = 1, .counts = {2, 3, 4}};
  profile.sample_counts = {{.counted_ns = 5, .counts = {6, 7, 8}}};
  profile.samples[0].counts = 1;
  const v1::Profile proto = ToProto(profile, nullptr);
  EXPECT_TRUE(proto.hardware_counters().cycles());
  EXPECT_FALSE(proto.hardware_counters().instructions());
  EXPECT_TRUE(proto.hardware_counters().cache_misses());
  EXPECT_EQ(proto.hardware_counters().missing(), "");
  EXPECT_EQ(proto.threads(0).counters().counted_ns(), 1u);
  EXPECT_EQ(proto.threads(0).counters().cycles(), 2u);
  EXPECT_EQ(proto.threads(0).counters().instructions(), 3u);
  EXPECT_EQ(proto.threads(0).counters().cache_misses(), 4u);
  ASSERT_EQ(proto.samples().cycles_size(), proto.samples().weight_ns_size());
  EXPECT_EQ(proto.samples().counted_ns(0), 5u);
  EXPECT_EQ(proto.samples().cycles(0), 6u);
  EXPECT_EQ(proto.samples().instructions(0), 7u);
  EXPECT_EQ(proto.samples().cache_misses(0), 8u);
}

TEST(ProfileToProto, TheLatestWordOnAFileStandsForAllItsFrames) {
  auto profile = MakeProfile();
  symbolize::ModuleInfo later{"/bin/x", "ab12", ".symtab", "", "", "d.debug", ""};
  profile.frames.push_back(profile.frames[0]);
  profile.frames[1].origin = std::make_shared<symbolize::ModuleInfo>(later);
  later.build_id = "cd34";
  profile.frames.push_back(profile.frames[0]);
  profile.frames[2].origin = std::make_shared<symbolize::ModuleInfo>(later);
  profile.frames.emplace_back();  // of the kernel, say
  const auto proto = server::ToProto(profile);
  ASSERT_EQ(proto.modules_size(), 2);
  EXPECT_EQ(proto.modules(0).debug_missing(), "");
  EXPECT_EQ(proto.modules(1).build_id(), "cd34");
  EXPECT_EQ(proto.frames(0).module_info(), 1u);
  EXPECT_EQ(proto.frames(1).module_info(), 1u);
  EXPECT_EQ(proto.frames(2).module_info(), 2u);
  EXPECT_EQ(proto.frames(3).module_info(), 0u);
}

TEST(ProfileToProto, UnresolvedFramesSayWhatTheirProgramWasStartedAs) {
  auto profile = MakeProfile();
  profile.processes[0].comm = "started-as";
  profile.processes[0].command_line = "/bin/started-as --flag";
  profile.frames[0].reason.clear();
  profile.frames.push_back(profile.frames[0]);
  profile.frames[1].name.clear();
  profile.frames[1].reason = "stripped";
  profile.frames.push_back(profile.frames[1]);
  profile.frames[2].name = std::string(BaseName(profile.frames[1].module)) + "!fn_4a00";
  const auto proto = server::ToProto(profile);
  EXPECT_EQ(proto.frames(0).program(), "") << "it has a name";
  EXPECT_EQ(proto.frames(1).program(), "started-as");
  EXPECT_EQ(proto.frames(1).name(), "");
  EXPECT_EQ(proto.frames(2).name(), "started-as!fn_4a00");
  EXPECT_EQ(proto.frames(2).reason(), "stripped");
}

TEST(ProfileToProto, CarriesThreadsWithTheirClocks) {
  const auto proto = server::ToProto(MakeProfile());
  ASSERT_EQ(proto.threads_size(), 1);
  const auto& thread = proto.threads(0);
  EXPECT_EQ(thread.tid(), 9u);
  EXPECT_EQ(thread.start_ns(), 8u);
  EXPECT_EQ(thread.comm(), "worker");
  EXPECT_EQ(thread.begin_ns(), 10u);
  EXPECT_EQ(thread.end_ns(), 130u);
  EXPECT_TRUE(thread.began());
  EXPECT_FALSE(thread.exited());
  EXPECT_FALSE(thread.clock_missing());
  const auto& clock = thread.clock();
  const std::array fields{clock.on_cpu_ns(),
                          clock.runnable_after_wakeup_ns(),
                          clock.runnable_after_preemption_ns(),
                          clock.runnable_after_yield_ns(),
                          clock.blocked_interruptible_ns(),
                          clock.blocked_uninterruptible_ns(),
                          clock.blocked_iowait_ns(),
                          clock.on_cpu_count(),
                          clock.runnable_after_wakeup_count(),
                          clock.runnable_after_preemption_count(),
                          clock.runnable_after_yield_count(),
                          clock.blocked_interruptible_count(),
                          clock.blocked_uninterruptible_count(),
                          clock.blocked_iowait_count(),
                          clock.migrations()};
  for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(fields[i], i + 11) << i;
  // 11 + ... + 17 = 98 ns of states in 120 ns of life.
  EXPECT_DOUBLE_EQ(thread.closure_error(), (98.0 - 120.0) / 120.0);
}

TEST(ProfileToProto, MigrationsHaveDistancesWhereTheyWereCounted) {
  auto profile = MakeProfile();
  EXPECT_FALSE(server::ToProto(profile).threads(0).clock().has_core_migrations());
  profile.threads[0].migrations = aggregate::Migrations{3, 2, 0};
  const auto proto = server::ToProto(profile);
  const auto& clock = proto.threads(0).clock();
  EXPECT_EQ(clock.core_migrations(), 3u);
  EXPECT_EQ(clock.cache_migrations(), 2u);
  EXPECT_TRUE(clock.has_node_migrations());
}

TEST(ProfileToProto, PlacesOfCpusAndWhatRanBesideASample) {
  auto profile = MakeProfile();
  EXPECT_EQ(server::ToProto(profile).samples().sibling_size(), 0);
  profile.cpu_places = {{.cpu = 0, .core = 0, .cache = 0, .node = 1},
                        {.cpu = 4, .core = 0, .cache = std::nullopt, .node = 1}};
  profile.samples[0].cpu = 5;
  profile.samples[0].sibling = process::Sibling::kBusy;
  const auto proto = server::ToProto(profile);
  ASSERT_EQ(proto.cpu_places_size(), 2);
  EXPECT_TRUE(proto.cpu_places(0).has_cache());
  EXPECT_EQ(proto.cpu_places(1).cpu(), 4u);
  EXPECT_EQ(proto.cpu_places(1).node(), 1u);
  EXPECT_FALSE(proto.cpu_places(1).has_cache());
  ASSERT_EQ(proto.samples().sibling_size(), proto.samples().cpu_size());
  EXPECT_EQ(proto.samples().sibling(0), v1::SIBLING_BUSY);
}

// What was stolen from a thread is among its on-CPU samples, so that they add up to its clock.
TEST(ProfileToProto, StolenTimeBecomesAPseudoSample) {
  auto profile = MakeProfile();
  profile.on_cpu = true;
  profile.threads.push_back(profile.threads[0]);
  profile.threads[1].begin_ns = 50;
  profile.threads[0].clock.stolen_ns[PROFD_STOLEN_SPREAD] = 5;
  profile.threads[1].clock.stolen_ns[PROFD_STOLEN_EXACT] = 6;
  const auto proto = server::ToProto(profile);
  EXPECT_EQ(proto.threads(0).clock().stolen_spread_ns(), 5u);
  EXPECT_EQ(proto.threads(1).clock().stolen_exact_ns(), 6u);
  const auto& samples = proto.samples();
  ASSERT_EQ(samples.weight_ns_size(), 3);
  EXPECT_EQ(std::vector(samples.time_ns().begin(), samples.time_ns().end()),
            (std::vector<std::uint64_t>{10, 40, 50}));
  EXPECT_EQ(std::vector(samples.weight_ns().begin(), samples.weight_ns().end()),
            (std::vector<std::uint64_t>{5, 42, 6}));
  for (const int i : {0, 2}) {
    EXPECT_EQ(samples.thread(i), i == 0 ? 0u : 1u);
    EXPECT_EQ(samples.state(i), v1::STATE_ON_CPU);
    EXPECT_EQ(samples.count(i), 0u);
    ASSERT_EQ(samples.node(i), 3u) << "behind those of the profile, which has two and the root";
    const auto& frame = proto.frames(static_cast<int>(proto.nodes(2).frame()));
    EXPECT_EQ(frame.name(), "[stolen]");
    EXPECT_EQ(frame.kind(), v1::FRAME_PSEUDO);
  }
  EXPECT_EQ(samples.gil_size(), 0);
  profile.samples[0].gil = process::Gil::kHeld;
  EXPECT_EQ(server::ToProto(profile).samples().gil(0), v1::GIL_UNKNOWN);
  EXPECT_EQ(server::ToProto(profile).samples().gil(2), v1::GIL_NONE) << "of the other thread";
  EXPECT_FALSE(samples.exact(0)) << "an estimate";
  EXPECT_TRUE(samples.exact(2));
  profile.on_cpu = false;
  EXPECT_EQ(server::ToProto(profile).samples().weight_ns_size(), 1) << "no time on a CPU in it";
}

TEST(ProfileToProto, CarriesSamplesInColumns) {
  const auto samples = server::ToProto(MakeProfile()).samples();
  ASSERT_EQ(samples.time_ns_size(), 1);
  EXPECT_EQ(samples.time_ns(0), 40u);
  EXPECT_EQ(samples.raw_weight_ns(0), 41u);
  EXPECT_EQ(samples.weight_ns(0), 42u);
  EXPECT_EQ(samples.thread(0), 0u);
  EXPECT_EQ(samples.node(0), 2u);
  EXPECT_EQ(samples.state(0), v1::STATE_BLOCKED);
  EXPECT_EQ(samples.wait(0), v1::WAIT_PIPE);
  EXPECT_EQ(samples.count(0), 43u);
  EXPECT_TRUE(samples.exact(0));
  EXPECT_EQ(samples.stack_flags(0), 5u);
}

TEST(ProfileToProto, MakesEveryStringUtf8) {
  auto profile = MakeProfile();
  const auto name_of = [&profile](const std::string& bytes) {
    profile.frames[0].name = bytes;
    return server::ToProto(profile).frames(0).name();
  };
  EXPECT_EQ(name_of("plain"), "plain");
  EXPECT_EQ(name_of("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(name_of("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(name_of("cut\xE2\x82"), "cut" + bad + bad);
  EXPECT_EQ(name_of("\xC0\x80"), bad + bad);                      // overlong zero
  EXPECT_EQ(name_of("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(name_of("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
}

TEST(ProfileToProto, HasTheGilWhereThereIsPython) {
  aggregate::Profile profile = MakeProfile();
  EXPECT_EQ(server::ToProto(profile).samples().gil_size(), 0);
  EXPECT_EQ(server::ToProto(profile).processes(0).python(), "");
  profile.samples[0].gil = process::Gil::kNotHeld;
  profile.processes[0].interpreter =
      std::make_shared<const process::PythonInterpreter>(process::PythonInterpreter{"", "no\xFF"});
  const auto proto = server::ToProto(profile);
  ASSERT_EQ(proto.samples().gil_size(), proto.samples().weight_ns_size());
  EXPECT_EQ(proto.samples().gil(0), v1::GIL_NOT_HELD);
  EXPECT_EQ(proto.processes(0).python(), "?");
  EXPECT_EQ(proto.processes(0).python_refused(), "no\xEF\xBF\xBD");
}

TEST(StatusToProto, CarriesEverything) {
  pipeline::BackendStatus backend;
  backend.source.levels.kernel_release = "6.18";
  backend.source.levels.hook = "none (snapshots)";
  backend.source.levels.hook_reason = "no better one";
  backend.source.online_cpus = 2;
  backend.source.switches = 3;
  backend.source.bpf_cost_ns = 4;
  backend.source.map_bytes = 5;
  backend.python = {13, {{"w", "x", 14}}, {{"y", "z", 15}}, 16, 17, 18, 19, 20};
  backend.replay_file = "r";
  backend.recording_file = "w";
  backend.exports = {{.name = "e",
                      .to = "t",
                      .sent = 21,
                      .sent_bytes = 22,
                      .sent_until_unix_ns = 23,
                      .retries = 24,
                      .spool_entries = 25,
                      .spool_bytes = 26,
                      .spool_limit_bytes = 27,
                      .gaps = {{"g", 28}},
                      .last_error = "no\xff"}};
  server::SessionSummary summary;
  summary.id = 6;
  summary.target = "all";
  summary.duration_ns = 7;
  summary.progress.elapsed_ns = 8;
  summary.progress.samples = 9;
  const auto proto = server::ToProto(server::DaemonStatus{10, 11, 12}, backend, {summary});
  EXPECT_EQ(proto.version(), PROFD_VERSION);
  EXPECT_EQ(proto.up_ns(), 10u);
  EXPECT_EQ(proto.daemon_cpu_ns(), 11u);
  EXPECT_EQ(proto.memory_bytes(), 12u);
  EXPECT_EQ(proto.kernel(), "6.18");
  EXPECT_EQ(proto.hook(), "none (snapshots)");
  EXPECT_EQ(proto.hook_reason(), "no better one");
  EXPECT_EQ(proto.online_cpus(), 2u);
  EXPECT_EQ(proto.switches(), 3u);
  EXPECT_EQ(proto.bpf_ns(), 4u);
  EXPECT_EQ(proto.map_bytes(), 5u);
  EXPECT_EQ(proto.python().attached(), 13u);
  EXPECT_EQ(proto.python().waiting(0).text(), "x");
  EXPECT_EQ(proto.python().refused(0).count(), 15u);
  EXPECT_EQ(proto.python().stacks(), 16u);
  EXPECT_EQ(proto.python().not_merged(), 17u);
  EXPECT_EQ(proto.python().cut(), 18u);
  EXPECT_EQ(proto.python().names_stale(), 19u);
  EXPECT_EQ(proto.python().names_unknown(), 20u);
  EXPECT_EQ(proto.replay_file(), "r");
  EXPECT_EQ(proto.recording_file(), "w");
  ASSERT_EQ(proto.exports_size(), 1);
  EXPECT_EQ(proto.exports(0).name() + proto.exports(0).to(), "et");
  EXPECT_EQ(proto.exports(0).sent(), 21u);
  EXPECT_EQ(proto.exports(0).sent_bytes(), 22u);
  EXPECT_EQ(proto.exports(0).sent_until_unix_ns(), 23u);
  EXPECT_EQ(proto.exports(0).retries(), 24u);
  EXPECT_EQ(proto.exports(0).spool_profiles(), 25u);
  EXPECT_EQ(proto.exports(0).spool_bytes(), 26u);
  EXPECT_EQ(proto.exports(0).spool_limit_bytes(), 27u);
  ASSERT_EQ(proto.exports(0).gaps_ns_size(), 1);
  EXPECT_EQ(proto.exports(0).gaps_ns(0).name(), "g");
  EXPECT_EQ(proto.exports(0).gaps_ns(0).count(), 28u);
  EXPECT_EQ(proto.exports(0).last_error(), "no\xEF\xBF\xBD");
  ASSERT_EQ(proto.sessions_size(), 1);
  EXPECT_EQ(proto.sessions(0).id(), 6u);
  EXPECT_EQ(proto.sessions(0).duration_ns(), 7u);
  EXPECT_EQ(proto.sessions(0).elapsed_ns(), 8u);
  EXPECT_EQ(proto.sessions(0).samples(), 9u);
}

TEST(ErrorToStatus, HasACodeOfItsOwnAndTheHintOnALineOfItsOwn) {
  const auto status =
      server::ToStatus({ErrorCode::kPermissionDenied, "cannot load: no right", "be root"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "cannot load: no right\nbe root");
  EXPECT_EQ(server::ToStatus({ErrorCode::kNotFound, "gone", ""}).error_message(), "gone");
  EXPECT_EQ(server::ToStatus({ErrorCode::kExhausted, "", ""}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(ConvertProfile, WaitReasonsHaveTheSameNamesOnBothSides) {
  for (const auto& info : process::kWaitReasons) {
    std::string name = "WAIT_";
    for (const char c : info.reason == process::WaitReason::kNone ? "none" : info.name)
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(v1::WaitReason_Name(static_cast<v1::WaitReason>(info.reason)), name);
  }
}

}  // namespace
}  // namespace profd::server
