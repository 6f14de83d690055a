#include "daemon/server/grpc/convert/module_coverage.h"

#include <algorithm>

#include "daemon/base/utf8.h"

namespace profd::server {

void AddCoverage(std::span<const unwind::CodeCoverage> files, v1::Profile& proto) {
  for (v1::Module& module : *proto.mutable_modules()) {
    const auto file = std::ranges::find(files, module.build_id(), &unwind::CodeCoverage::build_id);
    if (file == files.end()) continue;
    module.set_code_covered_bytes(file->covered_bytes);
    module.set_code_bare_bytes(file->bare_bytes);
    for (const NamedCount& reason : file->refused) {
      auto& added = *module.add_code_refused();
      added.set_text(ValidUtf8(reason.text));
      added.set_count(reason.count);
    }
  }
}

}  // namespace profd::server
