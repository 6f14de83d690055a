#include "daemon/options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "daemon/rpc/server.h"

namespace profd {
namespace {

constexpr const char* kFooter = R"(Examples:
  profd                                       serve at unix:///run/profd/profd.sock
  profd --listen unix:/tmp/p.sock             serve at another socket
  profd --record run.profd                    keep all events, to replay them elsewhere
  profd --replay run.profd                    serve a recording: no kernel, no root needed

Exit codes: 0 ok, 1 failure, 2 usage, 5 permission denied.)";

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  Options& options = line.options;
  options.listen = rpc::kDefaultAddress;
  std::string hook;
  const std::map<std::string, profd_hook> hooks = {{"sched_exit_tp", PROFD_HOOK_SCHED_EXIT},
                                                   {"kprobe", PROFD_HOOK_FINISH_TASK},
                                                   {"switch-out", PROFD_HOOK_SWITCH_OUT}};

  CLI::App app{"The host agent of profd: an always-on on/off-CPU profiler."};
  app.footer(kFooter);
  app.set_version_flag("--version", "profd " PROFD_VERSION);
  app.add_option("--listen", options.listen, "gRPC address: unix:PATH or a loopback HOST:PORT")
      ->type_name("ADDRESS")
      ->capture_default_str();
  auto* record =
      app.add_option("--record", options.record_file, "write all events into a recording");
  record->type_name("FILE");
  app.add_option("--replay", options.replay_file, "serve a recording instead of this machine")
      ->type_name("FILE")
      ->excludes(record);
  app.add_flag("--private", options.private_use,
               "end when standard input ends; print 'ready' when serving");
  app.add_flag_callback(
      "--no-debug-info", [&options] { options.debug_info = false; },
      "no inlined functions and lines, only symbols");
  app.add_option("--hook", hook, "only this rung of the hook ladder")
      ->check(CLI::IsMember(hooks))
      ->type_name("{sched_exit_tp|kprobe|switch-out}")
      ->option_text("{sched_exit_tp|kprobe|switch-out}");
  app.add_option("--log-level", options.log_level, "how much to say on standard error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->option_text("{debug|info|warn|error|off}  (info; with --private warn)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
  } catch (const CLI::CallForVersion&) {
    line.text = "profd " PROFD_VERSION "\n";
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::kInvalidArgument, error.what(), "see profd --help"};
  }
  if (options.log_level.empty()) options.log_level = options.private_use ? "warn" : "info";
  if (options.log_level == "error") options.log_level = "err";
  if (!hook.empty()) options.force_hook = hooks.at(hook);
  return line;
}

}  // namespace profd
