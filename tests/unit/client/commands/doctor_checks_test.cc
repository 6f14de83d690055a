#include "client/commands/health/doctor_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

// A host that has all.
class DoctorChecksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("proc/sys/kernel/osrelease", "6.12.1-amd64\n");
    Write("proc/sys/net/core/bpf_jit_enable", "1\n");
    Write("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    Write("proc/sys/kernel/perf_event_paranoid", "2\n");
    Write("proc/sys/kernel/kptr_restrict", "1\n");
    Write("sys/kernel/btf/vmlinux", "x");
    Write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    Write("debug/aa/bb.debug", "x");
    Write("proc/7/status", "Name:\tx\nNSpid:\t7\t3\n");
    Write("proc/7/maps", "1000-2000 r-xp 00000000 08:01 5 /bin/x\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    directory_.Write(name, text);
  }
  [[nodiscard]] HostFiles Host() const {
    return {ProcFs(directory_.Path("proc")), ProcFs(directory_.Path("sys")),
            directory_.Path("debug"), ""};
  }
  static Finding Of(const std::vector<Finding>& findings, const std::string& check) {
    for (const Finding& finding : findings)
      if (finding.check == check) return finding;
    ADD_FAILURE() << "no " << check;
    return {};
  }

  test::TempFolder directory_;
};

TEST_F(DoctorChecksTest, AHostThatHasAllIsWell) {
  for (const Finding& finding : CheckHost(Host())) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check << ": " << finding.found;
    EXPECT_EQ(finding.fix, "") << finding.check;
  }
}

TEST_F(DoctorChecksTest, EachThingThatIsMissingIsSaidWithItsFix) {
  Write("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n");
  Write("proc/sys/net/core/bpf_jit_enable", "0\n");
  Write("proc/sys/kernel/perf_event_max_sample_rate", "50\n");
  Write("proc/sys/kernel/perf_event_paranoid", "3\n");
  Write("proc/sys/kernel/kptr_restrict", "2\n");
  Write("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
  HostFiles host = Host();
  host.sys = ProcFs(directory_.Path("nowhere"));
  host.debug_files = directory_.Path("nowhere");
  auto findings = CheckHost(host);
  const auto expect = [&](const char* check, Verdict verdict) {
    const Finding finding = Of(findings, check);
    EXPECT_EQ(finding.verdict, verdict) << check;
    EXPECT_NE(finding.fix, "") << check;
  };
  expect("kernel", Verdict::kFail);
  expect("BTF", Verdict::kFail);
  expect("BPF JIT", Verdict::kWarn);
  expect("sample rate", Verdict::kWarn);
  expect("perf events", Verdict::kWarn);
  expect("kernel names", Verdict::kWarn);
  expect("debug info", Verdict::kWarn);
  findings = CheckHost(Host());
  expect("lockdown", Verdict::kFail);
  host.debuginfod_urls = "https://debuginfod.example";
  EXPECT_EQ(Of(CheckHost(host), "debug info").verdict, Verdict::kOk);
}

TEST_F(DoctorChecksTest, AnOpenHostIsWell) {
  Write("proc/sys/kernel/perf_event_paranoid", "-1\n");
  EXPECT_EQ(Of(CheckHost(Host()), "perf events").verdict, Verdict::kOk);
}

TEST_F(DoctorChecksTest, CodeMadeAtRunTimeNeedsAMap) {
  const auto verdict = [&] { return CheckProcess(7, Host()).front().verdict; };
  EXPECT_EQ(verdict(), Verdict::kOk);
  Write("proc/7/maps", "1000-2000 r-xp 00000000 00:00 0 [vdso]\n3000-4000 rw-p 0 00:00 0 \n");
  EXPECT_EQ(verdict(), Verdict::kOk);
  Write("proc/7/maps", "1000-2000 r-xp 00000000 00:00 0 \n");
  EXPECT_EQ(verdict(), Verdict::kWarn);
  // Its names may be elsewhere, where profd has found them.
  v1::Profile seen;
  EXPECT_EQ(CheckProcess(7, Host(), &seen).front().verdict, Verdict::kWarn);
  v1::Frame& frame = *seen.add_frames();
  frame.set_kind(v1::FRAME_JIT);
  EXPECT_EQ(CheckProcess(7, Host(), &seen).front().found,
            "its names are in a jitdump that it writes");
  seen.add_modules()->set_symbols_from("gdb jit");
  frame.set_module_info(1);
  EXPECT_EQ(CheckProcess(7, Host(), &seen).front().verdict, Verdict::kOk);
  EXPECT_EQ(CheckProcess(7, Host(), &seen).front().found,
            "its names are in objects that it registers for debuggers (gdb jit)");
  // By the number it has in its own namespace, below its own root.
  Write("proc/7/root/tmp/perf-3.map", "");
  EXPECT_EQ(verdict(), Verdict::kOk);
  EXPECT_EQ(CheckProcess(8, Host()).front().verdict, Verdict::kUnknown);
}

TEST_F(DoctorChecksTest, SaysHowMuchCodeHasRulesAndWhyTheRestHasNone) {
  testing::ProfileMaker maker;
  maker.Add(maker.AddThread(7, "x"), {"main"});
  v1::Profile profile = maker.Make();
  const auto findings = CheckSamples(profile, {});
  EXPECT_TRUE(std::ranges::none_of(findings,
                                   [](const Finding& finding) { return finding.check == "code"; }));

  v1::Module& file = *profile.add_modules();
  file.set_path("/lib/kernels.so");
  file.set_code_covered_bytes(99 * 1024);
  file.set_code_bare_bytes(1024);
  Finding code = Of(CheckSamples(profile, {}), "code");
  EXPECT_EQ(code.verdict, Verdict::kOk);
  EXPECT_EQ(code.fix, "");
  EXPECT_EQ(code.found,
            "99.0 % of 100 KiB without unwind information has rules made from the code; most "
            "without: /lib/kernels.so, 1.00 KiB");

  v1::Module& made = *profile.add_modules();  // memory
  made.set_code_bare_bytes(100 * 1024);
  for (const auto& [text, count] :
       {std::pair("it does not return", 2), std::pair("it is odd", 5)}) {
    v1::NamedCount& reason = *made.add_code_refused();
    reason.set_text(text);
    reason.set_count(static_cast<std::uint64_t>(count));
  }
  code = Of(CheckSamples(profile, {}), "code");
  EXPECT_EQ(code.verdict, Verdict::kWarn);
  EXPECT_EQ(code.fix, "profctl symbols says why the rest has none");
  EXPECT_EQ(code.found,
            "49.5 % of 200 KiB without unwind information has rules made from the code; most "
            "without: memory without a file, 100 KiB (5 functions: it is odd)");
}

TEST_F(DoctorChecksTest, WhatADaemonSays) {
  v1::StatusResponse status;
  status.set_hook("none (snapshots)");
  auto& missing = *status.add_missing_capabilities();
  missing.set_name("CAP_SYSLOG");
  missing.set_cost("names of kernel functions");
  auto& lost = *status.add_lost();
  lost.set_text("no room in a ring");
  lost.set_count(3);
  auto& refused = *status.mutable_python()->add_refused();
  refused.set_text("free-threaded");
  refused.set_count(1);
  status.mutable_history()->set_last_error("disk full");
  status.add_degraded("history store: no progress for 200 s");
  status.add_unreadable("/mnt/x/app: does not answer, tried 3 times");
  status.add_unreadable("/mnt/x/lib.so: does not answer, tried once");
  const auto findings = CheckStatus(status);
  for (const char* check : {"hook", "rights", "losses", "profd", "readers", "Python", "history"})
    EXPECT_EQ(Of(findings, check).verdict, Verdict::kWarn) << check;
  EXPECT_NE(Of(findings, "rights").found.find("CAP_SYSLOG"), std::string::npos);
  EXPECT_EQ(Of(findings, "losses").found, "3 no room in a ring");
  EXPECT_EQ(Of(findings, "profd").found, "history store: no progress for 200 s");
  EXPECT_EQ(Of(findings, "readers").found,
            "/mnt/x/app: does not answer, tried 3 times, and 1 more: profctl status");
  v1::StatusResponse well;
  well.set_hook("sched_exit_tp");
  for (const Finding& finding : CheckStatus(well))
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check;
}

TEST_F(DoctorChecksTest, WhetherRuntimesOfContainersAnswer) {
  v1::StatusResponse status;
  status.set_hook("sched_exit_tp");
  for (const Finding& finding : CheckStatus(status)) EXPECT_NE(finding.check, "containers");
  status.add_container_runtimes("containerd v1 at /run/c.sock: 3 containers and pods");
  status.add_container_runtimes("/run/crio/crio.sock: Permission denied");
  status.add_container_runtimes("/run/d.sock: it does not answer");
  status.add_container_runtimes("/run/e.sock: it does not speak CRI v1: unknown service");
  std::vector<Finding> found;
  for (const Finding& finding : CheckStatus(status))
    if (finding.check == "containers") found.push_back(finding);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].verdict, Verdict::kOk);
  EXPECT_EQ(found[0].fix, "");
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_EQ(found[i].verdict, Verdict::kWarn);
    EXPECT_NE(found[i].found.find("have no names of pods"), std::string::npos);
  }
  EXPECT_NE(found[1].fix.find("systemctl edit profd"), std::string::npos);
  EXPECT_NE(found[1].fix.find("ExecStartPre=+setfacl -m u:profd:rw /run/crio/crio.sock;"),
            std::string::npos);
  EXPECT_NE(found[2].fix.find("systemctl status containerd"), std::string::npos);
  EXPECT_NE(found[3].fix.find("disabled_plugins"), std::string::npos);
}

TEST_F(DoctorChecksTest, WhatTheSamplesOfAProcessSay) {
  const auto well = CheckSamples(testing::SmallProfile(), {});
  for (const Finding& finding : well)
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check << ": " << finding.found;
  testing::ProfileMaker maker;
  maker.profile().mutable_processes(0)->set_python("3.13.0");
  maker.profile().mutable_processes(0)->set_python_refused("free-threaded");
  maker.Add(maker.AddThread(4242, "demo"), {"main", "lib.so+0x10"});
  const auto ill = CheckSamples(maker.Make(), {});
  EXPECT_EQ(Of(ill, "Python").verdict, Verdict::kWarn);
  EXPECT_EQ(Of(ill, "symbols").found, "1 of 2 frames have names");
  EXPECT_TRUE(std::ranges::any_of(ill, [](const Finding& finding) {
    return finding.check == "symbols" && finding.verdict == Verdict::kWarn;
  }));
  EXPECT_EQ(CheckSamples({}, {}).front().verdict, Verdict::kFail);
}

TEST_F(DoctorChecksTest, SaysHowManyStacksGoOnByFramePointer) {
  const auto found = [](int of_ten) {
    testing::ProfileMaker maker;
    const auto thread = maker.AddThread(4242, "demo");
    for (int i = 0; i < 10; ++i) maker.Add(thread, {"main"}, {.count = 20});
    for (int i = 0; i < of_ten; ++i)
      maker.profile().mutable_samples()->set_stack_flags(i, 32 + 128);
    if (of_ten == 0) maker.profile().mutable_samples()->set_stack_flags(0, 32);
    return CheckSamples(maker.Make(), {});
  };
  const auto is_reported = [](const Finding& finding) {
    return finding.check == "stacks" && finding.verdict == Verdict::kWarn &&
           finding.found ==
               "60 of 200 stacks go on by frame pointer where code has no unwind rules: callers "
               "beyond may be wrong or missing";
  };
  EXPECT_TRUE(std::ranges::any_of(found(3), is_reported));
  EXPECT_TRUE(std::ranges::none_of(found(0), [](const Finding& finding) {
    return finding.found.find("frame pointer") != std::string::npos;
  }));
}

}  // namespace
}  // namespace profd::client
