// collect: choose a profd, run a session, write its profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/fleet_options.h"
#include "client/cli/output_options.h"
#include "client/cli/sampling_options.h"
#include "client/cli/target_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct CollectOptions {
  v1::Target target;                         // `kind` is not set when there is a command
  std::vector<std::string> command;          // behind `--`
  std::optional<std::uint64_t> duration_ns;  // none: 10 s, or until the command ends
  Sampling sampling;
  bool hardware_cycles = false;
  bool switches = false;
  bool inlined = true;
  bool lines = true;
  bool no_progress = false;
  OutputOptions output;
  std::string hosts;                             // a file of --hosts; "": one host, or `fleet`
  std::optional<FleetRequest> fleet{};           // from all hosts that run a service
  std::string host_address = "*";                // where a host of a fleet is: AddressesOf
  std::optional<std::uint64_t> host_timeout_ns;  // of --hosts and a fleet
};

[[nodiscard]] v1::CollectRequest RequestFor(const CollectOptions& options, v1::Target target);
// Of `symbols`, too: one run with `options`.
[[nodiscard]] int RunCollect(const CollectOptions& options, const Context& context);

class CollectVerb : public Verb {
 public:
  CollectVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const CollectOptions& options() const { return options_; }

 private:
  struct Raw {
    RawTarget target;
    std::string duration;
    RawSampling sampling;
    bool cycles = false;
    bool switches = false;
    RawPlaces places;
    bool no_progress = false;
    OutputOptions output;
    std::vector<std::string> command;
    std::string hosts;
    std::string host_timeout;
    std::string host_address;
    RawFleet fleet;
  };
  [[nodiscard]] Result<void> TakeTarget();
  [[nodiscard]] Result<void> TakeHosts();
  [[nodiscard]] Result<void> TakeFleet();
  [[nodiscard]] Result<void> TakeHostTimeout();
  Raw raw_;
  CollectOptions options_;
};

}  // namespace profd::client
