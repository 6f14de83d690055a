// What the conversions of profiles and dumps share.
#pragma once

#include <map>
#include <string>

#include "daemon/aggregate/profile.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

// proto3 strings must be UTF-8; names come from ELF files and comms, and may be anything.
[[nodiscard]] std::string Utf8(const std::string& bytes);

void Fill(const aggregate::ProfileProcess& process, v1::Process& proto);
// All but what is said of its module. `programs`: aggregate::ProgramNames of the same processes.
void Fill(const symbolize::Frame& frame, const std::map<std::string, std::string>& programs,
          v1::Frame& proto);

}  // namespace profd::server
