#include "client/commands/web/web.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_session.h"
#include "client/commands/common/target_daemon.h"
#include "client/commands/web/desktop_browser.h"
#include "client/commands/web/fleet_history.h"
#include "client/commands/web/profile_sources.h"
#include "client/commands/web/web_api.h"
#include "client/link/daemon_choice.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/stop_signals.h"
#include "client/web/server/web_server.h"
#include "daemon/base/http/http_client.h"

namespace profd::client {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  profctl web\n"
    "  profctl web before.json after.json\n"
    "  profctl web --port 8000      and, elsewhere: ssh -L 8000:127.0.0.1:8000 HOST";

// Set once, by the thread of the signals.
class End {
 public:
  // False: it was set before.
  bool Set() {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(set_, true)) return false;
    changed_.notify_all();
    return true;
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// One run of the command; its parts are kept in the order in which they must end.
class Web {
 public:
  Web(const WebOptions& options, const Context& context) : options_(options), context_(context) {}

  Result<void> Run() {
    if (options_.fleet) HttpClient::PrepareProcess();
    Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
    if (!signals) return signals.error();
    signals_ = *std::move(signals);
    // The first ends the server, as soon as its answers are out; the second ends profctl at once.
    signals_->Handle([this](int signal, bool /*from_terminal*/) {
      if (serving_ && end_.Set()) return;
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    });
    PROFD_TRY(CheckFiles());
    PROFD_TRY(Connect());
    sources_ = std::make_unique<ProfileSources>(options_.files, connection_.client.get(),
                                                fleet_.get(), context_.console);
    api_ = std::make_unique<WebApi>(*sources_);
    auto server = WebServer::Start(
        options_.port, [this](const WebRequest& request) { return api_->Answer(request); });
    if (!server) return server.error();
    serving_ = true;
    return Serve(std::move(*server));
  }

 private:
  // What is no file fails here, not in the browser.
  [[nodiscard]] Result<void> CheckFiles() const {
    for (const std::string& file : options_.files) {
      if (file == "-" || ::access(file.c_str(), R_OK) == 0) continue;
      Error error = ErrorFromErrno(errno, "cannot read " + file);
      error.code = ErrorCode::kIo;
      return error;
    }
    return {};
  }

  // With files a profd is welcome, not needed.
  Result<void> Connect() {
    if (options_.fleet) {
      auto fleet = FleetHistory::Open(*options_.fleet, context_);
      if (!fleet) return fleet.error();
      fleet_ = *std::move(fleet);
      // What cannot be read is said here, not in the browser.
      const auto status = fleet_->Status();
      return status ? Result<void>() : status.error();
    }
    if (options_.files.empty()) {
      auto connection = client::Connect(context_, *signals_);
      if (!connection) return connection.error();
      connection_ = *std::move(connection);
      return {};
    }
    auto running = ConnectToRunning(context_.global.host);
    if (running)
      connection_.client = *std::move(running);
    else
      context_.console.Explain("only the files are shown: " + running.error().message);
    return {};
  }

  Result<void> Serve(std::unique_ptr<WebServer> server) {
    PROFD_TRY(WriteToStdout(server->address() + "\n"));
    context_.console.Say(
        "The page is at this address until Ctrl-C; who knows it can see all that "
        "you can see with profctl.");
    if (options_.open)
      if (const auto opened = OpenInBrowser(server->address(), context_, *signals_); !opened)
        context_.console.Fail(opened.error());
    end_.Wait();
    sources_->Stop();
    server.reset();
    context_.temp_files.RemoveAll();
    return {};
  }

  const WebOptions& options_;
  const Context& context_;
  End end_;
  std::atomic<bool> serving_ = false;
  std::unique_ptr<StopSignals> signals_;
  DaemonConnection connection_;
  std::unique_ptr<FleetHistory> fleet_;  // null: none is named
  std::unique_ptr<ProfileSources> sources_;
  std::unique_ptr<WebApi> api_;
};

}  // namespace

WebVerb::WebVerb()
    : Verb({.name = "web",
            .usage = "profctl web [FILE.json]... [--port N] [--open] [OPTIONS]\n"
                     "       profctl web --fleet URL --service NAME [OPTIONS]",
            .summary = "show profiles in a browser: files, the history and what runs now",
            .about =
                "Serves a page on this host only and prints its address, which cannot be guessed. "
                "The page has the flame graph and the tables of collect -o x.html, and a strip of "
                "what the host did, in which a range of the history is selected; two ranges or "
                "files can be compared, and everything can be downloaded in every format. Without "
                "a FILE it needs a profd that runs, or starts a private one. Of a fleet a service "
                "is in "
                "the place of the history. Ctrl-C ends it.",
            .footer = kFooter}) {
  command().Add({.names = "FILES", .into = &options_.files, .offer = Offer::kFiles});
  AddFleet(command(), fleet_);
  command().Add({.group = kOutputGroup,
                 .names = "--port",
                 .into = &port_,
                 .value = "N",
                 .help = "serve at this port of 127.0.0.1; default any that is free"});
  command().Add({.group = kOutputGroup,
                 .names = "--open",
                 .into = &options_.open,
                 .help = "open the page in the browser of the desktop"});
}

Result<void> WebVerb::Take() {
  PROFD_TRY(TakePort());
  if (!fleet_.requested()) return CheckNoFleet(fleet_);
  auto fleet = ParseFleet(fleet_, {}, {}, NowUnixNs());
  if (!fleet) return fleet.error();
  PROFD_TRY(CheckService(fleet->question));
  options_.fleet = *std::move(fleet);
  return {};
}

Result<void> WebVerb::TakePort() {
  if (port_.empty()) return {};
  const char* end = port_.data() + port_.size();
  const auto parsed = std::from_chars(port_.data(), end, options_.port);
  if (parsed.ec != std::errc{} || parsed.ptr != end || options_.port == 0)
    return Usage("--port " + port_ + " is no port", "it is a number from 1 to 65535");
  return {};
}

int WebVerb::Run(const Context& context) {
  const Result<void> served = Web(options_, context).Run();
  if (served) return ToInt(ExitCode::kOk);
  if (!served.error().message.empty()) context.console.Fail(served.error());
  return ToInt(ExitCodeOf(served.error().code));
}

}  // namespace profd::client
