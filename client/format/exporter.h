// Exporter: a finished profile in, the bytes of one file format out.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/options.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Stateless and pure: the same profile and options give the same bytes. May be called from any
// thread. The profile may come from a file: every format checks it (check_profile.h) before it
// writes a byte, so a failed Write has written nothing unless the stream itself failed.
class Exporter {
 public:
  virtual ~Exporter() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // With the dot, the usual one first; compared without case.
  [[nodiscard]] virtual std::span<const std::string_view> extensions() const = 0;
  // One line for `profctl formats`: what opens it.
  [[nodiscard]] virtual std::string_view description() const = 0;
  // kCorrupt, kExhausted: the profile; kIo: the stream.
  [[nodiscard]] virtual Result<void> Write(const v1::Profile& profile, const ExportOptions& options,
                                           std::ostream& out) const = 0;
};

// All formats. Owned by the command that writes; immutable after construction.
class Exporters {
 public:
  Exporters();
  [[nodiscard]] std::span<const std::unique_ptr<Exporter>> all() const { return exporters_; }
  // kInvalidArgument, and the names there are, when there is none.
  [[nodiscard]] Result<const Exporter*> ByName(std::string_view name) const;
  // By the longest extension that fits: "x.speedscope.json" is speedscope, "x.json" is json.
  [[nodiscard]] Result<const Exporter*> ByFileName(std::string_view path) const;

 private:
  std::vector<std::unique_ptr<Exporter>> exporters_;
};

// What every Write ends with: kIo when the stream has failed.
[[nodiscard]] Result<void> FinishStream(std::ostream& out);

}  // namespace profd::client
