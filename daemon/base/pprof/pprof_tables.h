// PprofTables: what the parts of a pprof profile refer to by number: strings, functions, mappings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "daemon/base/pprof/pprof.pb.h"

namespace profd {

// Job: adds each string and each function to a profile once, and numbers them in the order of their
// use. Thread: one. Owner: an encoder, which adds samples and locations itself. Texts are valid
// UTF-8.
class PprofTables {
 public:
  // `out` is empty and outlives this.
  explicit PprofTables(pprof::Profile& out) : out_(out) { String(""); }

  // Index into string_table; that of "" is 0.
  std::int64_t String(std::string_view text);
  void SetType(pprof::ValueType* type, std::string_view name, std::string_view unit);
  void AddLabel(pprof::Sample* sample, std::string_view name, std::string_view value);
  // Its id. The arguments are strings of the file.
  std::uint64_t Function(std::int64_t name, std::int64_t system_name, std::int64_t file);
  // A new one, of the pages in which the addresses from `first` to `last` lie. `build_id` "": not
  // known. Its id.
  std::uint64_t AddMapping(std::string_view module, std::string_view build_id, std::uint64_t first,
                           std::uint64_t last);

 private:
  pprof::Profile& out_;
  std::unordered_map<std::string, std::int64_t> strings_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint64_t> functions_;
};

}  // namespace profd
