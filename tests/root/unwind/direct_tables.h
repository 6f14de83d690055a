// DirectTables: a TableService that reads files in the calling process.
#pragma once

#include <memory>

#include "daemon/source/bpf/unwind_maps.h"
#include "daemon/unwind/service/table_service.h"
#include "tests/support/direct_reader.h"

namespace profd::unwind {

class DirectTables {
 public:
  template <typename Maps>
  explicit DirectTables(Maps& maps) : service_(maps, maps, readers_) {}
  [[nodiscard]] TableService& service() { return service_; }

 private:
  test::DirectReaders readers_{std::make_unique<CfiParser>()};
  TableService service_;
};

}  // namespace profd::unwind
