// FilesTarget: pprof files in a folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// A file for each profile: HOST-20261128T051500Z-NUMBER.pb.gz, whole from the moment it is there.
// Its group may read it. Nothing is ever removed. A second try replaces the file of the first.
class FilesTarget : public Target {
 public:
  FilesTarget(const ExportSettings& settings, std::string host)
      : settings_(settings), host_(std::move(host)) {}

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;

 private:
  const ExportSettings settings_;
  const std::string host_;
};

// The whole profile as one file of pprof; nothing of one without rows.
[[nodiscard]] Result<EncodedProfile> EncodePprofFile(const ExportProfile& profile, Compression how);

// HOST-20261128T051500Z-NUMBER.pb.gz, or .pb without compression.
[[nodiscard]] std::string ProfileFileName(std::string_view host, std::uint64_t from_unix_ns,
                                          std::uint64_t number, Compression how);

// A name that is safe as a part of a path.
[[nodiscard]] std::string FileNamePart(std::string_view text);

}  // namespace profd::fleet
