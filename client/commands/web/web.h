// web: profiles in a browser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/fleet_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct WebOptions {
  std::vector<std::string> files;  // "-" is stdin
  std::uint16_t port = 0;          // 0: any
  bool open = false;               // in the browser of the desktop
  std::optional<FleetRequest> fleet{};
};

class WebVerb : public Verb {
 public:
  WebVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const WebOptions& options() const { return options_; }

 private:
  [[nodiscard]] Result<void> TakePort();

  std::string port_;
  RawFleet fleet_;
  WebOptions options_;
};

}  // namespace profd::client
