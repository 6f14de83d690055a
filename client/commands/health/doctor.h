// doctor: what keeps profiles from being complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/commands/common/verb.h"

namespace profd::client {

struct DoctorOptions {
  std::optional<std::uint32_t> pid;
  bool json = false;
};

class DoctorVerb : public Verb {
 public:
  DoctorVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const DoctorOptions& options() const { return options_; }

 private:
  std::vector<std::string> pids_;
  DoctorOptions options_;
};

}  // namespace profd::client
