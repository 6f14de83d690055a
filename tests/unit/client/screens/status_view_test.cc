#include "client/screens/status/status_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/screens/json/screen_json.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kMostInJson = 9'007'199'254'740'991;  // 2^53 - 1

v1::StatusResponse Sample() {
  v1::StatusResponse status;
  status.set_version("0.1.0");
  status.set_up_ns(273'600'000'000'000);
  status.set_kernel("6.12.107");
  status.set_hook("sched_exit_tp");
  status.set_split("run_delay");
  status.set_snapshot("sleepable iterator");
  status.set_hooks_attached(true);
  status.set_observers("2 observers");
  status.set_on_cpu_clock("cpu-clock");
  status.set_online_cpus(8);
  status.set_switches(5'745'600'000);
  status.set_bpf_ns(919'296'000'000);
  status.set_daemon_cpu_ns(1'094'400'000'000);
  status.set_memory_bytes(118ull << 20);
  status.set_map_bytes(44ull << 20);
  v1::SessionStatus* session = status.add_sessions();
  session->set_id(7);
  session->set_target("pid 4242");
  session->set_elapsed_ns(4'000'000'000);
  session->set_duration_ns(10'000'000'000);
  session->set_samples(1'584);
  v1::NamedCount* lost = status.add_lost();
  lost->set_name("sched_ring_full");
  lost->set_text("samples lost: ring full");
  lost->set_count(12);
  const auto note = [&](const char* name, const char* text, std::uint64_t count) {
    v1::NamedCount* added = status.add_counters();
    added->set_name(name);
    added->set_text(text);
    added->set_count(count);
  };
  note("stacks_ns", "of the ns spent in profd's BPF programs, those for samples", 114'912'000'000);
  note("unwind_files", "files known to the unwinder", 31);
  note("unwind_rows", "rows of unwind tables loaded", 120'034);
  note("unwind_memory", "bytes of kernel memory for unwind tables", 2'621'440);
  note("unwind_cap", "bytes of kernel memory that unwind tables may take", 64u << 20);
  note("unwind_no_tables", "files without usable .eh_frame", 2);
  note("unwind_gone", "mappings gone before their tables could be made", 5);
  v1::PythonStatus& python = *status.mutable_python();
  python.set_attached(12);
  const auto add = [](v1::NamedCount& reason, const char* text, std::uint64_t count) {
    reason.set_text(text);
    reason.set_count(count);
  };
  add(*python.add_waiting(), "the interpreter has not been initialised", 2);
  add(*python.add_refused(), "CPython 3.13.1: free-threaded builds are not supported", 3);
  add(*python.add_refused(), "CPython 3.99.0 is not supported", 1);
  python.set_stacks(31'415);
  python.set_not_merged(2);
  python.set_cut(6);
  python.set_names_stale(5);
  return status;
}

TEST(StatusViewTest, SaysWhatTheUnwindTablesHold) {
  const std::string text = RenderStatus(Sample(), 80, Palette());
  EXPECT_NE(text.find("unwinding  2.50 MiB of 64.0 MiB, 31 files, 120,034 rows, 0 evictions\n"
                      "           refused: 2 files without unwind tables, 5 mappings gone\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(RenderStatus(v1::StatusResponse(), 80, Palette()).find("unwinding"), std::string::npos)
      << "a replay has no tables";
}

TEST(StatusViewTest, SaysWhatSamplingMayCostAndWhatIsDoneAboutIt) {
  v1::StatusResponse status = Sample();
  EXPECT_EQ(RenderStatus(status, 80, Palette()).find("budget"), std::string::npos);
  v1::BudgetStatus& budget = *status.mutable_budget();
  v1::SamplingStatus& sessions = *budget.mutable_sessions();
  sessions.set_limited(true);
  sessions.set_budget_cpus(0.02);
  sessions.set_spent_cpus(0.004);
  EXPECT_NE(
      RenderStatus(status, 80, Palette()).find("budget     sessions 0.4 % of 2.0 % of one CPU\n"),
      std::string::npos);
  v1::SamplingStatus& history = *budget.mutable_history();
  history.set_limited(true);
  history.set_budget_cpus(0.03);
  history.set_spent_cpus(0.021);
  history.set_on_cpu_factor(1);
  history.set_off_cpu_factor(4.25);
  const std::string text = RenderStatus(status, 80, Palette());
  EXPECT_NE(text.find("budget     history 2.1 % of 3.0 % of one CPU, periods x 4.25 off-CPU\n"
                      "           sessions 0.4 % of 2.0 % of one CPU\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("clocks need"), std::string::npos);
  history.set_on_cpu_factor(1.56);
  EXPECT_NE(RenderStatus(status, 80, Palette()).find("CPU, periods x 4.25 off-, x 1.56 on-CPU\n"),
            std::string::npos);
  budget.set_clock_limit_cpus(0.4);
  budget.set_clock_needed_cpus(0.6);
  budget.set_hooks_refused(true);
  EXPECT_NE(
      RenderStatus(status, 80, Palette())
          .find("\n           clocks need 60.0 % of one CPU, more than 40.0 %: snapshot mode\n"),
      std::string::npos);
}

TEST(StatusViewTest, SaysWhichInterpretersAreUnderstood) {
  const std::string text = RenderStatus(Sample(), 80, Palette());
  EXPECT_NE(
      text.find("python     12 attached, 2 waiting, 4 refused\n"
                "           refused: 3 CPython 3.13.1: free-threaded builds are not supported\n"
                "           refused: 1 CPython 3.99.0 is not supported\n"
                "           waiting: 2 the interpreter has not been initialised\n"
                "           31,415 stacks: 31,413 merged, 2 not merged, 6 cut; names: 5 stale\n"),
      std::string::npos)
      << text;
  v1::StatusResponse replay;
  replay.mutable_python();
  replay.set_replay_file("x");
  EXPECT_EQ(RenderStatus(replay, 80, Palette()).find("python"), std::string::npos);
}

TEST(StatusViewTest, SaysWhatDoesNotWork) {
  v1::StatusResponse status = Sample();
  EXPECT_EQ(RenderStatus(status, 80, Palette()).find("degraded"), std::string::npos);
  status.add_degraded("history store: no progress for 200 s");
  status.add_degraded("recording: no progress for 31 s");
  const std::string text = RenderStatus(status, 80, Palette());
  EXPECT_NE(text.find("degraded   history store: no progress for 200 s\n"
                      "           recording: no progress for 31 s\n"),
            std::string::npos)
      << text;
}

TEST(StatusViewTest, CompleteShowsEveryCounter) {
  const std::string text = RenderStatus(Sample(), 80, Palette(), true);
  EXPECT_NE(text.find("12  sched_ring_full   samples lost: ring full\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("5  unwind_gone "), std::string::npos) << text;
}

TEST(StatusViewTest, ForPeople) {
  ExpectGolden(RenderStatus(Sample(), 80, Palette()), "status_80.txt");
  EXPECT_EQ(WithoutColor(RenderStatus(Sample(), 80, Palette(true))),
            RenderStatus(Sample(), 80, Palette()));
}

TEST(StatusViewTest, OfADaemonThatHasJustStarted) {
  EXPECT_NE(RenderStatus(v1::StatusResponse(), 80, Palette()).find("sessions"), std::string::npos);
}

TEST(StatusViewTest, OfAReplay) {
  v1::StatusResponse status;
  status.set_version("0.1.0");
  status.set_replay_file("/tmp/a.profd");
  const std::string text = RenderStatus(status, 80, Palette());
  EXPECT_NE(text.find("replay     /tmp/a.profd"), std::string::npos) << text;
  EXPECT_EQ(text.find("clock"), std::string::npos);
}

TEST(StatusViewTest, MemoryBelowItsCapAndWhatWasGivenUpForIt) {
  v1::StatusResponse status = Sample();
  status.set_map_bytes(44u << 20);
  auto& memory = *status.mutable_memory();
  memory.set_cap_bytes(256u << 20);
  memory.set_used_bytes(118u << 20);
  memory.set_peak_bytes(120u << 20);
  const auto text = [&] { return RenderStatus(status, 200, Palette()); };
  EXPECT_NE(text().find("memory     118 MiB of 256 MiB (maps 44.0 MiB), at most 120 MiB\n"),
            std::string::npos)
      << text();
  memory.set_reclaim_requested_bytes(3u << 20);
  memory.set_dropping(true);
  for (const auto& [name, mib] : {std::pair("names", 1u), {"sessions", 9u}}) {
    auto& holder = *memory.add_holders();
    holder.set_name(name);
    holder.set_bytes(mib << 20);
  }
  EXPECT_NE(text().find("near the cap, samples are dropped"), std::string::npos) << text();
  EXPECT_NE(text().find("requested back: 3.00 MiB; now sessions 9.00 MiB, names 1.00 MiB"),
            std::string::npos)
      << text();
}

TEST(StatusViewTest, ForPrograms) {
  v1::StatusResponse status = Sample();
  status.mutable_memory()->set_cap_bytes(256u << 20);
  status.mutable_history()->set_path("/var/lib/profd/history.db");
  const auto json = nlohmann::json::parse(StatusJson(status));
  EXPECT_EQ(json["history"]["path"], "/var/lib/profd/history.db");
  EXPECT_EQ(static_cast<int>(json["history"].size()),
            v1::HistoryStatus::descriptor()->field_count());
  EXPECT_EQ(static_cast<int>(json["budget"].size()), v1::BudgetStatus::descriptor()->field_count());
  EXPECT_EQ(static_cast<int>(json["memory"].size()), v1::MemoryStatus::descriptor()->field_count());
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_EQ(json["switches"], 5'745'600'000u);
  EXPECT_EQ(json["sessions"][0]["target"], "pid 4242");
  EXPECT_EQ(json["lost"][0]["count"], 12);
  EXPECT_EQ(json["python"]["refused"][1]["text"], "CPython 3.99.0 is not supported");
  EXPECT_EQ(static_cast<int>(json["python"].size()), v1::PythonStatus::descriptor()->field_count());
  // One key a field: a new field of the message must be given here as well.
  EXPECT_EQ(static_cast<int>(json.size()), v1::StatusResponse::descriptor()->field_count());
}

TEST(StatusViewTest, InJsonOnlyNumbersThatADoubleHoldsAreNumbers) {
  v1::StatusResponse status;
  status.set_switches(kMostInJson);
  status.set_bpf_ns(kMostInJson + 1);
  status.mutable_history()->set_last_unix_ns(1'793'187'112'000'000'001);
  status.add_lost()->set_count(~std::uint64_t{0});
  const auto json = nlohmann::json::parse(StatusJson(status));
  EXPECT_EQ(json["switches"], kMostInJson);
  EXPECT_EQ(json["bpf_ns"], "9007199254740992");
  EXPECT_EQ(json["history"]["last_unix_ns"], "1793187112000000001");
  EXPECT_EQ(json["lost"][0]["count"], "18446744073709551615");
  EXPECT_TRUE(json["budget"]["clock_cpus"].is_number_float());
}

TEST(StatusViewTest, BytesThatAreNoUtf8DoNotBreakTheJson) {
  v1::StatusResponse status;
  v1::SessionStatus* session = status.add_sessions();
  session->set_target("comm \xff");
  EXPECT_TRUE(nlohmann::json::accept(StatusJson(status)));
}

TEST(StatusViewTest, ClocksComeFromTheKernelUntilAHookRuns) {
  v1::StatusResponse status = Sample();
  status.set_switches(0);
  EXPECT_THAT(RenderStatus(status, 80, Palette(), false),
              testing::HasSubstr("clock      kernel accounting: no hook has run\n"));
}

TEST(StatusViewTest, ExportsSayWhatIsSentWaitsAndIsMissing) {
  v1::StatusResponse status = Sample();
  v1::ExportStatus& good = *status.add_exports();
  good.set_name("near");
  good.set_to("files:/out");
  good.set_sent(12);
  good.set_sent_bytes(1u << 20);
  good.set_spool_limit_bytes(256u << 20);
  v1::ExportStatus& bad = *status.add_exports();
  bad.set_name("far");
  bad.set_to("otlp+grpc://x:1");
  bad.set_retries(3);
  bad.set_spool_profiles(2);
  bad.set_spool_bytes(4096);
  bad.set_last_error("unavailable: x\ny");
  v1::NamedCount& gap = *bad.add_gaps_ns();
  gap.set_name("spool_full");
  gap.set_count(120'000'000'000);
  EXPECT_THAT(RenderStatus(status, 100, Palette(), false),
              testing::HasSubstr(
                  "exports    near: 12 sent, 1.00 MiB; 0 wait, 0 B of 256 MiB; to files:/out\n"
                  "           far: 0 sent, 0 B; 2 wait, 4.00 KiB of 0 B; retries 3; to "
                  "otlp+grpc://x:1\n"
                  "             never sent: 120 s spool_full\n"
                  "             fails: unavailable: x"));
  const auto json = nlohmann::json::parse(StatusJson(status))["exports"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["sent_bytes"], 1u << 20);
  EXPECT_EQ(json[1]["gaps_ns"][0]["count"], 120'000'000'000);
  EXPECT_EQ(json[1]["last_error"], "unavailable: x\ny");
}

TEST(StatusViewTest, SaysWhatRuntimesOfContainersAnswer) {
  v1::StatusResponse status = Sample();
  status.add_container_runtimes("containerd v1 at /run/c.sock: 3 containers and pods");
  status.add_container_runtimes("/run/d.sock: it does not answer\x1b");
  const std::string text = RenderStatus(status, 100, Palette(), false);
  EXPECT_THAT(text, testing::HasSubstr("containers containerd v1 at /run/c.sock: 3 containers"));
  EXPECT_THAT(text, testing::HasSubstr("           /run/d.sock: it does not answer"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_EQ(nlohmann::json::parse(StatusJson(status))["container_runtimes"].size(), 2u);
}

TEST(StatusViewTest, SaysHowTheHistorySeesWaits) {
  v1::StatusResponse status = Sample();
  status.mutable_history()->set_path("/var/lib/profd/history.db");
  status.mutable_history()->set_observed(true);
  status.set_hooks_attached(false);
  EXPECT_THAT(RenderStatus(status, 80, Palette(), false),
              testing::AllOf(testing::HasSubstr(
                                 "snapshot mode: nothing runs at a context switch; 2 observers\n"),
                             testing::HasSubstr(", attached while a session needs it\n")));
  status.mutable_history()->set_observed(false);
  const std::string hooks = "hooks: each wait is measured at its context switches\n";
  EXPECT_THAT(
      RenderStatus(status, 80, Palette(), false),
      testing::AllOf(testing::HasSubstr(hooks), testing::Not(testing::HasSubstr("observers"))));
  const std::string why = "no observers: this kernel cannot run them";
  status.set_observers(why);
  EXPECT_THAT(RenderStatus(status, 80, Palette(), false),
              testing::HasSubstr(hooks + "           " + why + "\n"));
}

}  // namespace
}  // namespace profd::client
